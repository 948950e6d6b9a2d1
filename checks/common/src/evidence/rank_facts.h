/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where this process runs. Local, no MPI. */

/* A JSON object: rank, host, pid, cpus of its affinity mask, boot_id, start (s of CLOCK_REALTIME).
 * The caller frees it; NULL if out of memory. */
char *rank_facts(int rank, double start_s);
