/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PVM_FAIL_H
#define ASSAY_PVM_FAIL_H

/* The one abort of assay/fail.h, for two PVM tasks instead of MPI ranks: the asking task prints
 * and ends its partner; the partner, whose output nobody sees, writes to its daemon's log and
 * signals the asking task, which prints and leaves. fail_all is as fail_if. */

/* Say who the other task is, as soon as it is known. From then on its unexpected end ends the
 * asking task too, whatever call that waits in. */
void pvm_fail_partner(int partner, int is_partner);

/* Called by both tasks when all is done: from here on each may end without the other. */
void pvm_fail_part(void);

/* result of a PVM call, or the abort with PVM's own words when it is negative. */
int pvm_done(int result, const char *call);

#endif
