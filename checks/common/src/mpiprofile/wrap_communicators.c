/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make and free communicators. They synchronise, and some libraries (LAM) implement them
 * by public calls, which must not be counted as the program's. */
#include "wrap.h"

#define WRAP_MAKER(name, parameters, arguments)                                                    \
    WRAP(name, parameters, arguments, PROFILE_NO_PEER, -1,                                         \
         record_made(this, comm, *made, begun, ended))

WRAP_MAKER(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
WRAP_MAKER(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
WRAP_MAKER(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made),
           (comm, color, key, made))
WRAP_QUIET(Comm_free, (MPI_Comm * comm), (comm))
WRAP_QUIET(Intercomm_create,
           (MPI_Comm local, int leader, MPI_Comm peers, int other_leader, int tag, MPI_Comm *made),
           (local, leader, peers, other_leader, tag, made))
WRAP_QUIET(Intercomm_merge, (MPI_Comm between, int high, MPI_Comm *made), (between, high, made))
WRAP_MAKER(Cart_create,
           (MPI_Comm comm, int dimensions, PROFILE_CONST int lengths[], PROFILE_CONST int periods[],
            int reorder, MPI_Comm *made),
           (comm, dimensions, lengths, periods, reorder, made))
WRAP_MAKER(Cart_sub, (MPI_Comm comm, PROFILE_CONST int kept[], MPI_Comm *made), (comm, kept, made))
#if MPI_VERSION >= 3
WRAP_MAKER(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made),
           (comm, kind, key, info, made))
#endif
