/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided calls: bytes, and the time in the call. That of a request is in what completes it. They
 * are counted in recordings only. */
#include "wrap.h"

#if MPI_VERSION >= 3

#define WRAP_BYTES(name, parameters, arguments, items)                                             \
    WRAP(name, parameters, arguments, PROFILE_NO_PEER, -1,                                         \
         record_other(this, profile_bytes(items, type), begun, ended))

#define WRAP_COPY(name, constant, may)                                                             \
    WRAP_BYTES(name,                                                                               \
               (constant void *own, int items, MPI_Datatype type, int to, MPI_Aint place,          \
                int there, MPI_Datatype their_type, MPI_Win window may(MPI_Request *request)),     \
               (own, items, type, to, place, there, their_type, window may(request)), items)
WRAP_COPY(Put, const, WITHOUT)
WRAP_COPY(Rput, const, WITH)
WRAP_COPY(Get, , WITHOUT)
WRAP_COPY(Rget, , WITH)
#define WRAP_ACCUMULATE(name, may)                                                                 \
    WRAP_BYTES(name,                                                                               \
               (const void *own, int items, MPI_Datatype type, int to, MPI_Aint place, int there,  \
                MPI_Datatype their_type, MPI_Op op, MPI_Win window may(MPI_Request *request)),     \
               (own, items, type, to, place, there, their_type, op, window may(request)), items)
WRAP_ACCUMULATE(Accumulate, WITHOUT)
WRAP_ACCUMULATE(Raccumulate, WITH)
#define WRAP_GET_ACCUMULATE(name, may)                                                             \
    WRAP_BYTES(name,                                                                               \
               (const void *own, int items, MPI_Datatype type, void *in, int in_items,             \
                MPI_Datatype in_type, int to, MPI_Aint place, int there, MPI_Datatype their_type,  \
                MPI_Op op, MPI_Win window may(MPI_Request *request)),                              \
               (own, items, type, in, in_items, in_type, to, place, there, their_type, op,         \
                window may(request)),                                                              \
               items)
WRAP_GET_ACCUMULATE(Get_accumulate, WITHOUT)
WRAP_GET_ACCUMULATE(Rget_accumulate, WITH)
WRAP_BYTES(Fetch_and_op,
           (const void *own, void *in, MPI_Datatype type, int to, MPI_Aint place, MPI_Op op,
            MPI_Win window),
           (own, in, type, to, place, op, window), 1)
#ifndef SMPI_H /* SimGrid has other types */
WRAP_BYTES(Compare_and_swap,
           (const void *own, const void *other, void *in, MPI_Datatype type, int to, MPI_Aint place,
            MPI_Win window),
           (own, other, in, type, to, place, window), 1)
#endif

WRAP_QUIET(Win_create,
           (void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *window),
           (base, bytes, unit, info, comm, window))
WRAP_QUIET(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *window),
           (info, comm, window))
#define WRAP_ALLOCATE(name)                                                                        \
    WRAP_QUIET(                                                                                    \
        name,                                                                                      \
        (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),     \
        (bytes, unit, info, comm, base, window))
WRAP_ALLOCATE(Win_allocate)
WRAP_ALLOCATE(Win_allocate_shared)
WRAP_QUIET(Win_free, (MPI_Win * window), (window))
WRAP_QUIET(Win_fence, (int hints, MPI_Win window), (hints, window))
WRAP_QUIET(Win_post, (MPI_Group group, int hints, MPI_Win window), (group, hints, window))
WRAP_QUIET(Win_start, (MPI_Group group, int hints, MPI_Win window), (group, hints, window))
WRAP_QUIET(Win_complete, (MPI_Win window), (window))
WRAP_QUIET(Win_wait, (MPI_Win window), (window))
WRAP_QUIET(Win_test, (MPI_Win window, int *flag), (window, flag))
WRAP_QUIET(Win_lock, (int kind, int rank, int hints, MPI_Win window), (kind, rank, hints, window))
WRAP_QUIET(Win_lock_all, (int hints, MPI_Win window), (hints, window))
WRAP_QUIET(Win_unlock, (int rank, MPI_Win window), (rank, window))
WRAP_QUIET(Win_unlock_all, (MPI_Win window), (window))
WRAP_QUIET(Win_flush, (int rank, MPI_Win window), (rank, window))
WRAP_QUIET(Win_flush_all, (MPI_Win window), (window))
WRAP_QUIET(Win_flush_local, (int rank, MPI_Win window), (rank, window))
WRAP_QUIET(Win_flush_local_all, (MPI_Win window), (window))
WRAP_QUIET(Win_sync, (MPI_Win window), (window))

#endif
