/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* assay/fail.h for two PVM tasks: the asking task prints the error line and ends its partner; the
 * partner, whose output goes to its daemon's log, prints there and signals the asking task, which
 * prints its own line and exits. fail_all equals fail_if. */

/* Register the other task, as soon as it is known. From then on its unexpected end ends the asking
 * task too, in whatever call it waits. */
void pvm_fail_partner(int partner, int is_partner);

/* Called by both tasks when they are finished: from here on each may end before the other. */
void pvm_fail_part(void);

/* Returns the result of a PVM call; a negative one ends the run with PVM's error text. */
int pvm_done(int result, const char *call);
