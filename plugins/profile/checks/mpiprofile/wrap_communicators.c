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
WRAP_MAKER(Graph_create,
           (MPI_Comm comm, int ranks, const int index[], const int edges[], int reorder,
            MPI_Comm *made),
           (comm, ranks, index, edges, reorder, made))
WRAP_MAKER(Dist_graph_create,
           (MPI_Comm comm, int number, const int from[], const int counts[], const int to[],
            const int weights[], MPI_Info info, int reorder, MPI_Comm *made),
           (comm, number, from, counts, to, weights, info, reorder, made))
WRAP_MAKER(Dist_graph_create_adjacent,
           (MPI_Comm comm, int sources, const int from[], const int from_weights[], int targets,
            const int to[], const int to_weights[], MPI_Info info, int reorder, MPI_Comm *made),
           (comm, sources, from, from_weights, targets, to, to_weights, info, reorder, made))
/* Not by all ranks of comm, or not yet when it returns. */
WRAP_QUIET(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
           (comm, group, tag, made))
WRAP_QUIET(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request))

WRAP_QUIET(Comm_spawn,
           (const char *program, char *words[], int most, MPI_Info info, int root, MPI_Comm comm,
            MPI_Comm *made, int codes[]),
           (program, words, most, info, root, comm, made, codes))
#ifndef SMPI_H /* SimGrid has other types */
WRAP_QUIET(Comm_spawn_multiple,
           (int number, char *programs[], char **words[], const int most[], const MPI_Info infos[],
            int root, MPI_Comm comm, MPI_Comm *made, int codes[]),
           (number, programs, words, most, infos, root, comm, made, codes))
#endif
#define WRAP_PORT(name)                                                                            \
    WRAP_QUIET(name, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),   \
               (port, info, root, comm, made))
WRAP_PORT(Comm_accept)
WRAP_PORT(Comm_connect)
WRAP_QUIET(Comm_disconnect, (MPI_Comm * comm), (comm))
#endif
