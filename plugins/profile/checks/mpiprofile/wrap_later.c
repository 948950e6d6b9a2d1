/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that MPI-1 has not. They are counted in recordings only. */
#include "wrap.h"

#if MPI_VERSION >= 3

#define ALL PROFILE_NO_PEER
#define WRAP_LATER(name, parameters, arguments, record)                                            \
    WRAP(name, parameters, arguments, ALL, -1, record)
#define COLLECTIVE(role, bytes, request)                                                           \
    record_collective(this, role, comm, bytes, request, begun, ended)

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
           COLLECTIVE(BY_ROOT, profile_bytes(items, type), request))
#define WRAP_IGATHER(name, role, sent)                                                             \
    WRAP_LATER(name,                                                                               \
               (const void *out, int out_items, MPI_Datatype out_type, void *in, int in_items,     \
                MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request *request),              \
               (out, out_items, out_type, in, in_items, in_type, root, comm, request),             \
               COLLECTIVE(role, sent, request))
WRAP_IGATHER(Igather, ROLE_ALL,
             out == MPI_IN_PLACE ? profile_bytes(in_items, in_type)
                                 : profile_bytes(out_items, out_type))
WRAP_IGATHER(Iscatter, BY_ROOT,
             is_root(root, comm) ? profile_bytes(out_items, out_type)
                                 : profile_bytes(in_items, in_type))
WRAP_LATER(Igatherv,
           (const void *out, int out_items, MPI_Datatype out_type, void *in, const int in_items[],
            const int places[], MPI_Datatype in_type, int root, MPI_Comm comm,
            MPI_Request *request),
           (out, out_items, out_type, in, in_items, places, in_type, root, comm, request),
           COLLECTIVE(ROLE_ALL,
                      out == MPI_IN_PLACE ? profile_bytes(in_items[root], in_type)
                                          : profile_bytes(out_items, out_type),
                      request))
WRAP_LATER(Iscatterv,
           (const void *out, const int out_items[], const int places[], MPI_Datatype out_type,
            void *in, int in_items, MPI_Datatype in_type, int root, MPI_Comm comm,
            MPI_Request *request),
           (out, out_items, places, out_type, in, in_items, in_type, root, comm, request),
           COLLECTIVE(BY_ROOT,
                      is_root(root, comm) ? sum_of(out_items, comm, out_type) / ranks_of(comm)
                                          : profile_bytes(in_items, in_type),
                      request))

/* The blocks of a `v` form for neighbours, and of a `w` form, count as empty. */
#define WRAP_TO_ALL(name, role, may, request)                                                      \
    WRAP_LATER(name,                                                                               \
               (const void *out, int out_items, MPI_Datatype out_type, void *in, int in_items,     \
                MPI_Datatype in_type, MPI_Comm comm may(MPI_Request *request)),                    \
               (out, out_items, out_type, in, in_items, in_type, comm may(request)),               \
               COLLECTIVE(role,                                                                    \
                          out == MPI_IN_PLACE ? profile_bytes(in_items, in_type)                   \
                                              : profile_bytes(out_items, out_type),                \
                          request))
WRAP_TO_ALL(Iallgather, ROLE_ALL, WITH, request)
WRAP_TO_ALL(Ialltoall, ROLE_ALL, WITH, request)
WRAP_TO_ALL(Neighbor_allgather, ROLE_NEIGHBOURS, WITHOUT, NULL)
WRAP_TO_ALL(Neighbor_alltoall, ROLE_NEIGHBOURS, WITHOUT, NULL)
WRAP_TO_ALL(Ineighbor_allgather, ROLE_NEIGHBOURS, WITH, request)
WRAP_TO_ALL(Ineighbor_alltoall, ROLE_NEIGHBOURS, WITH, request)
#define WRAP_ALLGATHERV(name, role, may, request, bytes)                                           \
    WRAP_LATER(name,                                                                               \
               (const void *out, int out_items, MPI_Datatype out_type, void *in,                   \
                const int in_items[], const int places[], MPI_Datatype in_type,                    \
                MPI_Comm comm may(MPI_Request *request)),                                          \
               (out, out_items, out_type, in, in_items, places, in_type, comm may(request)),       \
               COLLECTIVE(role, bytes, request))
WRAP_ALLGATHERV(Iallgatherv, ROLE_ALL, WITH, request,
                out == MPI_IN_PLACE ? sum_of(in_items, comm, in_type) / ranks_of(comm)
                                    : profile_bytes(out_items, out_type))
WRAP_ALLGATHERV(Neighbor_allgatherv, ROLE_NEIGHBOURS, WITHOUT, NULL,
                profile_bytes(out_items, out_type))
WRAP_ALLGATHERV(Ineighbor_allgatherv, ROLE_NEIGHBOURS, WITH, request,
                profile_bytes(out_items, out_type))
#define WRAP_ALLTOALLV(name, role, may, request, bytes)                                            \
    WRAP_LATER(name,                                                                               \
               (const void *out, const int out_items[], const int out_places[],                    \
                MPI_Datatype out_type, void *in, const int in_items[], const int in_places[],      \
                MPI_Datatype in_type, MPI_Comm comm may(MPI_Request *request)),                    \
               (out, out_items, out_places, out_type, in, in_items, in_places, in_type,            \
                comm may(request)),                                                                \
               COLLECTIVE(role, bytes, request))
WRAP_ALLTOALLV(Ialltoallv, ROLE_ALL, WITH, request,
               (out == MPI_IN_PLACE ? sum_of(in_items, comm, in_type)
                                    : sum_of(out_items, comm, out_type)) /
                   ranks_of(comm))
WRAP_ALLTOALLV(Neighbor_alltoallv, ROLE_NEIGHBOURS, WITHOUT, NULL, 0)
WRAP_ALLTOALLV(Ineighbor_alltoallv, ROLE_NEIGHBOURS, WITH, request, 0)
#define WRAP_ALLTOALLW(name, role, place, may, request)                                            \
    WRAP_LATER(name,                                                                               \
               (const void *out, const int out_items[], const place out_places[],                  \
                const MPI_Datatype out_types[], void *in, const int in_items[],                    \
                const place in_places[], const MPI_Datatype in_types[],                            \
                MPI_Comm comm may(MPI_Request *request)),                                          \
               (out, out_items, out_places, out_types, in, in_items, in_places, in_types,          \
                comm may(request)),                                                                \
               COLLECTIVE(role, 0, request))
WRAP_ALLTOALLW(Alltoallw, ROLE_ALL, int, WITHOUT, NULL)
WRAP_ALLTOALLW(Ialltoallw, ROLE_ALL, int, WITH, request)
WRAP_ALLTOALLW(Neighbor_alltoallw, ROLE_NEIGHBOURS, MPI_Aint, WITHOUT, NULL)
WRAP_ALLTOALLW(Ineighbor_alltoallw, ROLE_NEIGHBOURS, MPI_Aint, WITH, request)

WRAP_LATER(Ireduce,
           (const void *out, void *in, int items, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm, MPI_Request *request),
           (out, in, items, type, op, root, comm, request),
           COLLECTIVE(ROLE_ALL, profile_bytes(items, type), request))
#define WRAP_IREDUCE(name, count, bytes)                                                           \
    WRAP_LATER(name,                                                                               \
               (const void *out, void *in, count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,     \
                MPI_Request *request),                                                             \
               (out, in, items, type, op, comm, request), COLLECTIVE(ROLE_ALL, bytes, request))
WRAP_IREDUCE(Iallreduce, int items, profile_bytes(items, type))
WRAP_IREDUCE(Iscan, int items, profile_bytes(items, type))
WRAP_IREDUCE(Iexscan, int items, profile_bytes(items, type))
WRAP_IREDUCE(Ireduce_scatter_block, int items, profile_bytes(items, type))
WRAP_IREDUCE(Ireduce_scatter, const int items[], sum_of(items, comm, type))

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
WRAP_LATER(Imrecv,
           (void *buffer, int items, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
           (buffer, items, type, message, request),
           record_message(this, ROLE_RECEIVES, MPI_COMM_NULL, MPI_ANY_SOURCE, MPI_ANY_TAG,
                          profile_bytes(items, type), request, begun, ended))

#endif
