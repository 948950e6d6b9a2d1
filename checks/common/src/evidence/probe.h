/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PROBE_H
#define ASSAY_PROBE_H

#include "assay/json.h"

#include <mpi.h>

/* The transport probe. Collective over comm; only PMPI calls. Ranks are grouped by host name. If
 * there are two hosts or more, the lowest rank of each sends `bytes` bytes to the lowest rank of
 * the next (in the order of these ranks, the last to the first), which reads its node's
 * interface counters before and after. A message that went through the memory of one kernel does
 * not arrive there. A node whose counters cannot be read proves nothing: its link says 0 bytes
 * arrived and has a member "problem".
 *
 * Rank 0 gets the members "links" and "probe_s" added to line; the other ranks leave it alone. */
void probe_run(MPI_Comm comm, long bytes, struct json *line);

#endif
