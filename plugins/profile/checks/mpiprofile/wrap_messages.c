/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#define C PROFILE_CONST
#define WRAP_SEND(name)                                                                            \
    WRAP(name, (C void *buffer, int items, MPI_Datatype type, int to, int tag, MPI_Comm comm),     \
         (buffer, items, type, to, tag, comm), profile_peer(comm, to), profile_bytes(items, type), \
         record_message(this, ROLE_SENDS, comm, to, tag, profile_bytes(items, type), NULL, begun,  \
                        ended))
#define WRAP_ISEND(name, constant, role)                                                           \
    WRAP(name,                                                                                     \
         (constant void *buffer, int items, MPI_Datatype type, int peer, int tag, MPI_Comm comm,   \
          MPI_Request *request),                                                                   \
         (buffer, items, type, peer, tag, comm, request), profile_peer(comm, peer),                \
         profile_bytes(items, type),                                                               \
         record_message(this, role, comm, peer, tag, profile_bytes(items, type), request, begun,   \
                        ended))

WRAP_SEND(Send)
WRAP_SEND(Bsend)
WRAP_SEND(Ssend)
WRAP_SEND(Rsend)
WRAP_ISEND(Isend, C, ROLE_SENDS)
WRAP_ISEND(Ibsend, C, ROLE_SENDS)
WRAP_ISEND(Issend, C, ROLE_SENDS)
WRAP_ISEND(Irsend, C, ROLE_SENDS)
WRAP_ISEND(Irecv, , ROLE_RECEIVES)

/* What MPI_Recv received: its status is asked for, which the program may not want. */
static void received(MPI_Comm comm, MPI_Datatype type, const MPI_Status *got, double begun,
                     double ended) {
    int items = 0; /* MPI_UNDEFINED is negative */
    PMPI_Get_count((MPI_Status *)got, type, &items);
    long long bytes = items > 0 ? profile_bytes(items, type) : 0;
    if (recording)
        record_message(PROFILE_Recv, ROLE_RECEIVES, comm, got->MPI_SOURCE, got->MPI_TAG, bytes,
                       NULL, begun, ended);
    else
        profile_count(PROFILE_Recv, profile_peer(comm, got->MPI_SOURCE), bytes, begun, ended);
}

WRAP_FORTRAN(Recv,
             (void *buffer, int items, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Status *status),
             (buffer, items, type, from, tag, comm, status))
VISIBLE int MPI_Recv(void *buffer, int items, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Status *status) {
    MPI_Status own; /* MPI-1 has no MPI_STATUS_IGNORE */
    double begun = profile_begin();
    int result = NEXT(Recv)(buffer, items, type, from, tag, comm, &own);
    double ended = timing_monotonic();
    if (begun >= 0 && result == MPI_SUCCESS)
        received(comm, type, &own, begun, ended);
    profile_leave();
#ifdef MPI_STATUS_IGNORE
    if (status != MPI_STATUS_IGNORE)
#endif
        *status = own;
    return result;
}

/* Only the message sent is counted: the one received is counted as the peer's send. The one
 * received gets its number, so that those after it have theirs. */
WRAP(Sendrecv,
     (C void *out, int out_items, MPI_Datatype out_type, int to, int out_tag, void *in,
      int in_items, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status),
     (out, out_items, out_type, to, out_tag, in, in_items, in_type, from, in_tag, comm, status),
     profile_peer(comm, to), profile_bytes(out_items, out_type),
     record_exchange(this, comm, to, out_tag, from, in_tag, profile_bytes(out_items, out_type),
                     begun, ended))
WRAP(Sendrecv_replace,
     (void *buffer, int items, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
      MPI_Comm comm, MPI_Status *status),
     (buffer, items, type, to, out_tag, from, in_tag, comm, status), profile_peer(comm, to),
     profile_bytes(items, type),
     record_exchange(this, comm, to, out_tag, from, in_tag, profile_bytes(items, type), begun,
                     ended))

WRAP(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status),
     profile_peer(comm, from), -1, record_other(this, 0, begun, ended))
WRAP(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
     (from, tag, comm, flag, status), profile_peer(comm, from), -1,
     record_other(this, 0, begun, ended))
