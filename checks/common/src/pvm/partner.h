/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Enrol this task in PVM and return the id of the other one. The asking task, which a launcher
 * started, spawns the partner: the same program with the same arguments on another host of the
 * virtual machine (on its own host if within_node is 1). is_partner is set to 1 in the partner, 0
 * in the asking task. No such host or no daemon ends the run (fail_if). */
int partner_meet(char **argv, int within_node, int *is_partner);
