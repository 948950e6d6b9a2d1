/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent.h"

#include "wrap.h"

#include <stdlib.h>

struct item {
    MPI_Request request;
    int peer;
    long long bytes;
};

static struct item *items;
static int count, room;

void persistent_add(MPI_Request request, int peer, long long bytes) {
    if (count == room) {
        int more = room ? 2 * room : 16;
        struct item *grown = realloc(items, (size_t)more * sizeof *items);
        if (!grown)
            return;
        items = grown;
        room = more;
    }
    items[count++] = (struct item){request, peer, bytes};
}

void persistent_remove(MPI_Request request) {
    for (int i = 0; i < count; i++)
        if (items[i].request == request)
            items[i--] = items[--count];
}

int persistent_find(MPI_Request request, int *peer, long long *bytes) {
    for (int i = 0; i < count; i++)
        if (items[i].request == request) {
            *peer = items[i].peer;
            *bytes = items[i].bytes;
            return 1;
        }
    return 0;
}

/* ---- the calls ---- */

#define WRAP_INIT(name, constant)                                                                  \
    VISIBLE int MPI_##name(constant void *buffer, int items_, MPI_Datatype type, int peer,         \
                           int tag, MPI_Comm comm, MPI_Request *request) {                         \
        int result = PMPI_##name(buffer, items_, type, peer, tag, comm, request);                  \
        if (result == MPI_SUCCESS)                                                                 \
            persistent_add(*request, profile_peer(comm, peer), profile_bytes(items_, type));       \
        return result;                                                                             \
    }

WRAP_INIT(Send_init, PROFILE_CONST)
WRAP_INIT(Bsend_init, PROFILE_CONST)
WRAP_INIT(Ssend_init, PROFILE_CONST)
WRAP_INIT(Rsend_init, PROFILE_CONST)
WRAP_INIT(Recv_init, )

VISIBLE int MPI_Request_free(MPI_Request *request) {
    persistent_remove(*request);
    return PMPI_Request_free(request);
}

VISIBLE int MPI_Start(MPI_Request *request) {
    int peer = PROFILE_NO_PEER;
    long long bytes = -1;
    persistent_find(*request, &peer, &bytes);
    double begun = profile_begin();
    int result = PMPI_Start(request);
    profile_end(PROFILE_Start, peer, bytes, begun, timing_monotonic());
    return result;
}

/* The time is counted without a peer, each message with its own. */
VISIBLE int MPI_Startall(int number, MPI_Request requests[]) {
    double begun = profile_begin();
    int result = PMPI_Startall(number, requests);
    profile_end(PROFILE_Startall, PROFILE_NO_PEER, -1, begun, timing_monotonic());
    for (int i = 0; i < number; i++) {
        int peer;
        long long bytes;
        if (persistent_find(requests[i], &peer, &bytes))
            profile_share(PROFILE_Startall, peer, bytes);
    }
    return result;
}
