/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make and free communicators. They synchronise, and some libraries (LAM) implement them
 * by public calls, which must not be counted as the program's. */
#include "wrap.h"

WRAP_QUIET(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
WRAP_QUIET(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
WRAP_QUIET(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made),
           (comm, color, key, made))
WRAP_QUIET(Comm_free, (MPI_Comm * comm), (comm))
WRAP_QUIET(Intercomm_create,
           (MPI_Comm local, int leader, MPI_Comm peers, int other_leader, int tag, MPI_Comm *made),
           (local, leader, peers, other_leader, tag, made))
WRAP_QUIET(Intercomm_merge, (MPI_Comm between, int high, MPI_Comm *made), (between, high, made))
WRAP_QUIET(Cart_create,
           (MPI_Comm comm, int dimensions, PROFILE_CONST int lengths[], PROFILE_CONST int periods[],
            int reorder, MPI_Comm *made),
           (comm, dimensions, lengths, periods, reorder, made))
