/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PARTNER_H
#define ASSAY_PARTNER_H

/* Enrol this task in PVM, and have its other one: the task that a person or a launcher started
 * spawns the same program with the same arguments on another host of the virtual machine (on its
 * own host if within_node is 1). The id of the other task; is_partner becomes 1 in the spawned
 * one. Ends the run through fail_if when there is no such host or no daemon. */
int partner_meet(char **argv, int within_node, int *is_partner);

#endif
