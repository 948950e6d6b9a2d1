/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/json.h"

#include <mpi.h>

/* The transport probe. Collective over comm; only PMPI calls. Ranks are grouped by host name. On
 * two or more hosts, the lowest rank of each sends `bytes` bytes to that of the next host (in the
 * order of these ranks, cyclically), which reads its node's interface counters before and after. A
 * message through the memory of one kernel does not arrive there. A node whose counters cannot be
 * read proves nothing: its link has 0 arrived bytes and a member "problem".
 *
 * On rank 0 the members "links" and "probe_s" are added to line. */
void probe_run(MPI_Comm comm, long bytes, struct json *line);
