/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#define C PROFILE_CONST
#define ALL PROFILE_NO_PEER
/* Bytes of a block, as plugins/profile/application_profile.py says what a message is. */
#define RECORD(role, bytes) record_collective(this, role, comm, bytes, NULL, begun, ended)

/* With MPI_IN_PLACE the receive arguments describe the data sent. */
static int in_place(const void *buffer) {
#ifdef MPI_IN_PLACE
    return buffer == MPI_IN_PLACE;
#else
    (void)buffer;
    return 0;
#endif
}

static long long given(const void *out, int items, MPI_Datatype type, int in_items,
                       MPI_Datatype in_type) {
    return in_place(out) ? profile_bytes(in_items, in_type) : profile_bytes(items, type);
}

WRAP(Barrier, (MPI_Comm comm), (comm), ALL, -1, RECORD(ROLE_ALL, 0))
WRAP(Bcast, (void *buffer, int items, MPI_Datatype type, int root, MPI_Comm comm),
     (buffer, items, type, root, comm), ALL, is_root(root, comm) ? profile_bytes(items, type) : 0,
     RECORD(BY_ROOT, profile_bytes(items, type)))
WRAP(Gather,
     (C void *out, int out_items, MPI_Datatype out_type, void *in, int in_items,
      MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, out_items, out_type, in, in_items, in_type, root, comm), ALL,
     given(out, out_items, out_type, in_items, in_type),
     RECORD(ROLE_ALL, given(out, out_items, out_type, in_items, in_type)))
WRAP(Gatherv,
     (C void *out, int out_items, MPI_Datatype out_type, void *in, C int in_items[], C int places[],
      MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, out_items, out_type, in, in_items, places, in_type, root, comm), ALL,
     in_place(out) ? profile_bytes(in_items[root], in_type) : profile_bytes(out_items, out_type),
     RECORD(ROLE_ALL, in_place(out) ? profile_bytes(in_items[root], in_type)
                                    : profile_bytes(out_items, out_type)))
WRAP(Scatter,
     (C void *out, int out_items, MPI_Datatype out_type, void *in, int in_items,
      MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, out_items, out_type, in, in_items, in_type, root, comm), ALL,
     is_root(root, comm) ? ranks_of(comm) * profile_bytes(out_items, out_type) : 0,
     RECORD(BY_ROOT, is_root(root, comm) ? profile_bytes(out_items, out_type)
                                         : profile_bytes(in_items, in_type)))
WRAP(Scatterv,
     (C void *out, C int out_items[], C int places[], MPI_Datatype out_type, void *in, int in_items,
      MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, out_items, places, out_type, in, in_items, in_type, root, comm), ALL,
     is_root(root, comm) ? sum_of(out_items, comm, out_type) : 0,
     RECORD(BY_ROOT, is_root(root, comm) ? sum_of(out_items, comm, out_type) / ranks_of(comm)
                                         : profile_bytes(in_items, in_type)))
WRAP(Allgather,
     (C void *out, int out_items, MPI_Datatype out_type, void *in, int in_items,
      MPI_Datatype in_type, MPI_Comm comm),
     (out, out_items, out_type, in, in_items, in_type, comm), ALL,
     given(out, out_items, out_type, in_items, in_type),
     RECORD(ROLE_ALL, given(out, out_items, out_type, in_items, in_type)))
WRAP(Allgatherv,
     (C void *out, int out_items, MPI_Datatype out_type, void *in, C int in_items[], C int places[],
      MPI_Datatype in_type, MPI_Comm comm),
     (out, out_items, out_type, in, in_items, places, in_type, comm), ALL,
     in_place(out) ? 0 : profile_bytes(out_items, out_type),
     RECORD(ROLE_ALL, in_place(out) ? sum_of(in_items, comm, in_type) / ranks_of(comm)
                                    : profile_bytes(out_items, out_type)))
WRAP(Alltoall,
     (C void *out, int out_items, MPI_Datatype out_type, void *in, int in_items,
      MPI_Datatype in_type, MPI_Comm comm),
     (out, out_items, out_type, in, in_items, in_type, comm), ALL,
     ranks_of(comm) * given(out, out_items, out_type, in_items, in_type),
     RECORD(ROLE_ALL, given(out, out_items, out_type, in_items, in_type)))
WRAP(Alltoallv,
     (C void *out, C int out_items[], C int out_places[], MPI_Datatype out_type, void *in,
      C int in_items[], C int in_places[], MPI_Datatype in_type, MPI_Comm comm),
     (out, out_items, out_places, out_type, in, in_items, in_places, in_type, comm), ALL,
     in_place(out) ? sum_of(in_items, comm, in_type) : sum_of(out_items, comm, out_type),
     RECORD(ROLE_ALL,
            (in_place(out) ? sum_of(in_items, comm, in_type) : sum_of(out_items, comm, out_type)) /
                ranks_of(comm)))
WRAP(Reduce,
     (C void *out, void *in, int items, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (out, in, items, type, op, root, comm), ALL, profile_bytes(items, type),
     RECORD(ROLE_ALL, profile_bytes(items, type)))
WRAP(Allreduce, (C void *out, void *in, int items, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, items, type, op, comm), ALL, profile_bytes(items, type),
     RECORD(ROLE_ALL, profile_bytes(items, type)))
WRAP(Reduce_scatter,
     (C void *out, void *in, C int items[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, items, type, op, comm), ALL, sum_of(items, comm, type),
     RECORD(ROLE_ALL, sum_of(items, comm, type)))
WRAP(Scan, (C void *out, void *in, int items, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, items, type, op, comm), ALL, profile_bytes(items, type),
     RECORD(ROLE_ALL, profile_bytes(items, type)))
