/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#include <stdlib.h>

/* A persistent request and its message. Not thread-safe. */
struct item {
    MPI_Request request;
    enum recording_role role;
    MPI_Comm comm;
    int rank, tag;
    long long bytes;
};

static struct item *items;
static int count, room;

static void add(struct item added) {
    if (count == room) {
        int more = room ? 2 * room : 16;
        struct item *grown = realloc(items, (size_t)more * sizeof *items);
        if (!grown)
            return;
        items = grown;
        room = more;
    }
    items[count++] = added;
}

static const struct item *find(MPI_Request request) {
    for (int i = 0; i < count; i++)
        if (items[i].request == request)
            return &items[i];
    return NULL;
}

static void record_start(enum profile_call call, MPI_Request *request, double begun, double ended) {
    const struct item *found = find(*request);
    if (found)
        record_message(call, found->role, found->comm, found->rank, found->tag, found->bytes,
                       request, begun, ended);
    else
        record_other(call, 0, begun, ended);
}

static long long bytes_of(const struct item *found) { return found ? found->bytes : -1; }
static int peer_of(const struct item *found) {
    return found ? profile_peer(found->comm, found->rank) : PROFILE_NO_PEER;
}

/* ---- the calls ---- */

#define WRAP_INIT(name, constant, role)                                                            \
    WRAP_FORTRAN(name,                                                                             \
                 (constant void *buffer, int items_, MPI_Datatype type, int peer, int tag,         \
                  MPI_Comm comm, MPI_Request *request),                                            \
                 (buffer, items_, type, peer, tag, comm, request))                                 \
    VISIBLE int MPI_##name(constant void *buffer, int items_, MPI_Datatype type, int peer,         \
                           int tag, MPI_Comm comm, MPI_Request *request) {                         \
        int result = NEXT(name)(buffer, items_, type, peer, tag, comm, request);                   \
        if (result == MPI_SUCCESS)                                                                 \
            add((struct item){*request, role, comm, peer, tag, profile_bytes(items_, type)});      \
        return result;                                                                             \
    }

WRAP_INIT(Send_init, PROFILE_CONST, ROLE_SENDS)
WRAP_INIT(Bsend_init, PROFILE_CONST, ROLE_SENDS)
WRAP_INIT(Ssend_init, PROFILE_CONST, ROLE_SENDS)
WRAP_INIT(Rsend_init, PROFILE_CONST, ROLE_SENDS)
WRAP_INIT(Recv_init, , ROLE_RECEIVES)

WRAP_FORTRAN(Request_free, (MPI_Request * request), (request))
VISIBLE int MPI_Request_free(MPI_Request *request) {
    for (int i = 0; i < count; i++)
        if (items[i].request == *request)
            items[i--] = items[--count];
    if (recording)
        record_freed(*request);
    return NEXT(Request_free)(request);
}

WRAP(Start, (MPI_Request * request), (request), peer_of(find(*request)), bytes_of(find(*request)),
     record_start(this, request, begun, ended))

/* The time is counted without a peer, each message with its own. */
static void count_all(int number, MPI_Request requests[], double begun, double ended) {
    profile_count(PROFILE_Startall, PROFILE_NO_PEER, -1, begun, ended);
    for (int i = 0; i < number; i++) {
        const struct item *found = find(requests[i]);
        if (found)
            profile_share(PROFILE_Startall, peer_of(found), found->bytes);
    }
}

/* The time is divided evenly. */
static void record_all(int number, MPI_Request requests[], double begun, double ended) {
    double part_s = number > 0 ? (ended - begun) / number : 0;
    for (int i = 0; i < number; i++)
        record_start(PROFILE_Startall, &requests[i], begun + i * part_s, begun + (i + 1) * part_s);
}

WRAP_FORTRAN(Startall, (int number, MPI_Request requests[]), (number, requests))
VISIBLE int MPI_Startall(int number, MPI_Request requests[]) {
    double begun = profile_begin();
    int result = NEXT(Startall)(number, requests);
    double ended = timing_monotonic();
    if (begun >= 0)
        (recording ? record_all : count_all)(number, requests, begun, ended);
    profile_leave();
    return result;
}
