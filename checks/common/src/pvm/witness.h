/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_WITNESS_H
#define ASSAY_WITNESS_H

/* The evidence line of an MPI program (evidence.h), for two PVM tasks: where each ran, which
 * libpvm3 served it, and what of a probe each way really arrived at the node's interfaces. Called
 * by both tasks at the same time; the asking one (is_partner 0) prints. start_s is
 * CLOCK_REALTIME at the task's begin. */
void witness(int other, int is_partner, double start_s);

#endif
