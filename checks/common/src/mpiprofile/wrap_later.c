/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that MPI-1 has not. They are counted in recordings only. */
#include "wrap.h"

#if MPI_VERSION >= 3

#define ALL PROFILE_NO_PEER
#define WRAP_LATER(name, parameters, arguments, record)                                            \
    WRAP(name, parameters, arguments, ALL, -1, record)
#define COLLECTIVE(role, bytes, request)                                                           \
    record_collective(this, role, comm, bytes, request, begun, ended)

static int is_root(int root, MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

WRAP_LATER(Alltoallw,
           (const void *out, const int out_items[], const int out_places[],
            const MPI_Datatype out_types[], void *in, const int in_items[], const int in_places[],
            const MPI_Datatype in_types[], MPI_Comm comm),
           (out, out_items, out_places, out_types, in, in_items, in_places, in_types, comm),
           COLLECTIVE(ROLE_ALL, 0, NULL))
WRAP_LATER(Exscan,
           (const void *out, void *in, int items, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, items, type, op, comm), COLLECTIVE(ROLE_ALL, profile_bytes(items, type), NULL))
WRAP_LATER(Reduce_scatter_block,
           (const void *out, void *in, int items, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, items, type, op, comm), COLLECTIVE(ROLE_ALL, profile_bytes(items, type), NULL))
WRAP_LATER(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request),
           COLLECTIVE(ROLE_ALL, 0, request))
WRAP_LATER(Ibcast,
           (void *buffer, int items, MPI_Datatype type, int root, MPI_Comm comm,
            MPI_Request *request),
           (buffer, items, type, root, comm, request),
           COLLECTIVE(is_root(root, comm) ? ROLE_GIVES : ROLE_IS_GIVEN, profile_bytes(items, type),
                      request))
#define WRAP_IGATHER(name, sent)                                                                   \
    WRAP_LATER(name,                                                                               \
               (const void *out, int out_items, MPI_Datatype out_type, void *in, int in_items,     \
                MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request *request),              \
               (out, out_items, out_type, in, in_items, in_type, root, comm, request),             \
               COLLECTIVE(ROLE_ALL, sent, request))
WRAP_IGATHER(Igather, out == MPI_IN_PLACE ? profile_bytes(in_items, in_type)
                                          : profile_bytes(out_items, out_type))
WRAP_IGATHER(Iscatter, is_root(root, comm) ? profile_bytes(out_items, out_type)
                                           : profile_bytes(in_items, in_type))
#define WRAP_TO_ALL(name, role, and_request, pass_request, request)                                \
    WRAP_LATER(name,                                                                               \
               (const void *out, int out_items, MPI_Datatype out_type, void *in, int in_items,     \
                MPI_Datatype in_type, MPI_Comm comm and_request),                                  \
               (out, out_items, out_type, in, in_items, in_type, comm pass_request),               \
               COLLECTIVE(role,                                                                    \
                          out == MPI_IN_PLACE ? profile_bytes(in_items, in_type)                   \
                                              : profile_bytes(out_items, out_type),                \
                          request))
#define AND_REQUEST , MPI_Request *request
#define PASS_REQUEST , request
WRAP_TO_ALL(Iallgather, ROLE_ALL, AND_REQUEST, PASS_REQUEST, request)
WRAP_TO_ALL(Ialltoall, ROLE_ALL, AND_REQUEST, PASS_REQUEST, request)
WRAP_TO_ALL(Neighbor_allgather, ROLE_NEIGHBOURS, , , NULL)
WRAP_TO_ALL(Neighbor_alltoall, ROLE_NEIGHBOURS, , , NULL)
WRAP_LATER(Ireduce,
           (const void *out, void *in, int items, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm, MPI_Request *request),
           (out, in, items, type, op, root, comm, request),
           COLLECTIVE(ROLE_ALL, profile_bytes(items, type), request))
WRAP_LATER(Iallreduce,
           (const void *out, void *in, int items, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
            MPI_Request *request),
           (out, in, items, type, op, comm, request),
           COLLECTIVE(ROLE_ALL, profile_bytes(items, type), request))

/* One-sided: bytes, and the time in the call. */
#define WRAP_ONE_SIDED(name, constant)                                                             \
    WRAP_LATER(name,                                                                               \
               (constant void *own, int items, MPI_Datatype type, int to, MPI_Aint place,          \
                int there, MPI_Datatype their_type, MPI_Win window),                               \
               (own, items, type, to, place, there, their_type, window),                           \
               record_other(this, profile_bytes(items, type), begun, ended))
WRAP_ONE_SIDED(Put, const)
WRAP_ONE_SIDED(Get, )
WRAP_LATER(Accumulate,
           (const void *own, int items, MPI_Datatype type, int to, MPI_Aint place, int there,
            MPI_Datatype their_type, MPI_Op op, MPI_Win window),
           (own, items, type, to, place, there, their_type, op, window),
           record_other(this, profile_bytes(items, type), begun, ended))
WRAP_QUIET(Win_fence, (int hints, MPI_Win window), (hints, window))
WRAP_QUIET(Win_lock, (int kind, int rank, int hints, MPI_Win window), (kind, rank, hints, window))
WRAP_QUIET(Win_unlock, (int rank, MPI_Win window), (rank, window))
WRAP_QUIET(Win_flush, (int rank, MPI_Win window), (rank, window))

/* What a matched probe found is received by MPI_Mrecv, which does not say from which communicator.
 */
WRAP_LATER(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
           (from, tag, comm, message, status),
           (record_other(this, 0, begun, ended), record_unnumbered(comm)))
WRAP_LATER(Improbe,
           (int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
           (from, tag, comm, flag, message, status),
           (record_other(this, 0, begun, ended), record_unnumbered(comm)))
WRAP_LATER(Mrecv,
           (void *buffer, int items, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
           (buffer, items, type, message, status),
           record_other(this, profile_bytes(items, type), begun, ended))

#endif
