/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#define C PROFILE_CONST
#define WRAP_SEND(name)                                                                            \
    WRAP(name, (C void *buffer, int items, MPI_Datatype type, int to, int tag, MPI_Comm comm),     \
         (buffer, items, type, to, tag, comm), profile_peer(comm, to), profile_bytes(items, type))
#define WRAP_ISEND(name, constant)                                                                 \
    WRAP(name,                                                                                     \
         (constant void *buffer, int items, MPI_Datatype type, int peer, int tag, MPI_Comm comm,   \
          MPI_Request *request),                                                                   \
         (buffer, items, type, peer, tag, comm, request), profile_peer(comm, peer),                \
         profile_bytes(items, type))

WRAP_SEND(Send)
WRAP_SEND(Bsend)
WRAP_SEND(Ssend)
WRAP_SEND(Rsend)
WRAP_ISEND(Isend, C)
WRAP_ISEND(Ibsend, C)
WRAP_ISEND(Issend, C)
WRAP_ISEND(Irsend, C)
WRAP_ISEND(Irecv, )

VISIBLE int MPI_Recv(void *buffer, int items, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Status *status) {
    MPI_Status own; /* MPI-1 has no MPI_STATUS_IGNORE */
    int got = 0;
    double begun = profile_begin();
    int result = PMPI_Recv(buffer, items, type, from, tag, comm, &own);
    double ended = timing_monotonic();
    int peer = begun >= 0 ? profile_peer(comm, own.MPI_SOURCE) : PROFILE_NO_PEER;
    PMPI_Get_count(&own, type, &got); /* MPI_UNDEFINED is negative */
    profile_end(PROFILE_Recv, peer, got > 0 ? profile_bytes(got, type) : 0, begun, ended);
#ifdef MPI_STATUS_IGNORE
    if (status != MPI_STATUS_IGNORE)
#endif
        *status = own;
    return result;
}

/* Only the message sent is counted: the one received is counted as the peer's send. */
WRAP(Sendrecv,
     (C void *out, int out_items, MPI_Datatype out_type, int to, int out_tag, void *in,
      int in_items, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status),
     (out, out_items, out_type, to, out_tag, in, in_items, in_type, from, in_tag, comm, status),
     profile_peer(comm, to), profile_bytes(out_items, out_type))
WRAP(Sendrecv_replace,
     (void *buffer, int items, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
      MPI_Comm comm, MPI_Status *status),
     (buffer, items, type, to, out_tag, from, in_tag, comm, status), profile_peer(comm, to),
     profile_bytes(items, type))

WRAP_QUIET(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
WRAP_QUIET(Waitall, (int number, MPI_Request requests[], MPI_Status *statuses),
           (number, requests, statuses))
WRAP_QUIET(Waitany, (int number, MPI_Request requests[], int *index, MPI_Status *status),
           (number, requests, index, status))
WRAP_QUIET(Waitsome,
           (int number, MPI_Request requests[], int *done, int indices[], MPI_Status *statuses),
           (number, requests, done, indices, statuses))
WRAP_QUIET(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
WRAP_QUIET(Testall, (int number, MPI_Request requests[], int *flag, MPI_Status *statuses),
           (number, requests, flag, statuses))
WRAP_QUIET(Testany, (int number, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
           (number, requests, index, flag, status))
WRAP_QUIET(Testsome,
           (int number, MPI_Request requests[], int *done, int indices[], MPI_Status *statuses),
           (number, requests, done, indices, statuses))
WRAP(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status),
     profile_peer(comm, from), -1)
WRAP(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
     (from, tag, comm, flag, status), profile_peer(comm, from), -1)
