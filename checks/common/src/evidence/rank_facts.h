/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_RANK_FACTS_H
#define ASSAY_RANK_FACTS_H

/* Where this process is. Local, no MPI. */

#define HOST_BYTES 256

/* Put the host's name, zero-ended, into host (HOST_BYTES long). */
void rank_host(char *host);

/* A JSON object: rank, host, pid, cpus it may run on, boot_id, start (seconds of CLOCK_REALTIME).
 * The caller frees it; NULL if memory is out. */
char *rank_facts(int rank, double start_s);

#endif
