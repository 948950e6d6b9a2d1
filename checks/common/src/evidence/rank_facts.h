/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where this process runs. Local, no MPI. */

/* From here on it is counted who has the processors. */
void rank_begins(void);

/* A JSON object: rank, host, pid, cpus of its affinity mask, boot_id, start (s of CLOCK_REALTIME),
 * and, after rank_begins and where the kernel says it, `usage` since then (assay/usage.h): s that
 * this process, its children and its parent, a daemon of the library perhaps, had a processor.
 * The caller frees it; NULL if out of memory. */
char *rank_facts(int rank, double start_s);
