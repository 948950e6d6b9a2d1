/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

#include "assay/clock.h"

#include <stdlib.h>
#include <string.h>

int recording, recording_spawned;
int recording_unordered;
double recording_begun_s, recording_mpi_s;

/* A nonblocking call that has not been completed. */
struct pending {
    MPI_Request request;
    int taken;
    double posted_s, mpi_s; /* when the call ended; time in MPI until then */
    struct sample sample;   /* its key is the entry's; hash 0: not sampled */
};

/* A hash table with open addressing; doubled when half full. A handle may be there several times:
 * MPICH has one for all sends that are complete at once. */
enum { MOST_PENDING = 1 << 16 };
static struct pending *pending;
static int pending_room, pending_count;

static int pending_place(int room, MPI_Request request) {
    unsigned long long number = 0;
    memcpy(&number, &request, sizeof request);
    return (int)((number * 0x9e3779b97f4a7c15ULL >> 32) % (unsigned)room);
}

static void pending_put(struct pending *table, int room, const struct pending *added) {
    int slot = pending_place(room, added->request);
    while (table[slot].taken)
        slot = (slot + 1) % room;
    table[slot] = *added;
}

/* Where a request is, or the free slot behind. */
static int pending_slot(MPI_Request request) {
    int slot = pending_place(pending_room, request);
    while (pending[slot].taken && pending[slot].request != request)
        slot = (slot + 1) % pending_room;
    return slot;
}

static void pending_add(const struct pending *added) {
    if (pending_count >= MOST_PENDING)
        return;
    if (2 * pending_count >= pending_room) {
        int room = pending_room ? 2 * pending_room : 256;
        struct pending *table = calloc((size_t)room, sizeof *table);
        if (!table)
            return;
        for (int i = 0; i < pending_room; i++)
            if (pending[i].taken)
                pending_put(table, room, &pending[i]);
        free(pending);
        pending = table;
        pending_room = room;
    }
    pending_count++;
    pending_put(pending, pending_room, added);
}

/* Take a request out of the table. 1 if it was there. */
static int pending_take(MPI_Request request, struct pending *found) {
    if (!pending_count)
        return 0;
    int slot = pending_slot(request);
    if (!pending[slot].taken)
        return 0;
    *found = pending[slot];
    pending[slot].taken = 0;
    pending_count--;
    /* Those behind it that would no longer be found move up. */
    for (int next = (slot + 1) % pending_room; pending[next].taken;
         next = (next + 1) % pending_room) {
        struct pending moved = pending[next];
        pending[next].taken = 0;
        pending_put(pending, pending_room, &moved);
    }
    return 1;
}

static void count_in(struct histogram_key key, double seconds) {
    struct histogram_entry *entry = histogram_entry(key);
    if (entry->least < 0 || key.bytes < entry->least)
        entry->least = key.bytes;
    if (key.bytes > entry->greatest)
        entry->greatest = key.bytes;
    entry->bytes += key.bytes;
    entry->count++;
    entry->time_s += seconds;
    recording_mpi_s += seconds;
}

/* Count a call, and keep its sample or its request. */
static void count(struct sample sample, struct samples *samples, const MPI_Request *request,
                  double begun, double ended) {
    count_in(sample.key, ended - begun);
    sample.ready = sample.from = begun;
    sample.to = ended;
    sample.time = sample.blocked = ended - begun;
    if (request && *request != MPI_REQUEST_NULL)
        pending_add(&(struct pending){*request, 1, ended, recording_mpi_s, sample});
    else if (!request && sample.hash)
        sample_keep(samples, &sample);
}

/* Whether receives of comm can be numbered, and the number of this message as a hash. */
static unsigned long long message_hash(struct communicator *own, enum recording_role role, int rank,
                                       int tag, int numbered) {
    if (!own || !own->id || recording_unordered || !own->world)
        return 0;
    if (role == ROLE_RECEIVES && (own->unnumbered || !numbered)) {
        own->unnumbered = 1;
        return 0;
    }
    if (rank < 0 || rank >= own->ranks)
        return 0;
    unsigned long long peer = (unsigned)own->world[rank], self = (unsigned)recording_rank;
    unsigned long long pair = role == ROLE_SENDS ? self << 32 | peer : peer << 32 | self;
    unsigned long long channel = sample_mix(own->id ^ pair, (unsigned)tag);
    long long number = sample_number(channel ^ (role == ROLE_SENDS));
    return number < 0 ? 0 : sample_mix(channel, (unsigned long long)number) >> 1 | 1;
}

/* 1: the rank is on the same node, 2: on another, 0: it is unknown. */
static int message_nodes(const struct communicator *own, int rank) {
    int world = own && own->world && rank >= 0 && rank < own->ranks ? own->world[rank] : -1;
    if (world < 0 || world >= recording_ranks)
        return 0;
    return 1 + (recording_node[world] != recording_node[recording_rank]);
}

void record_message(enum profile_call call, enum recording_role role, MPI_Comm comm, int rank,
                    int tag, long long bytes, const MPI_Request *request, double begun,
                    double ended) {
    profile_lock();
    struct communicator *own = comm == MPI_COMM_NULL ? NULL : communicator_of(comm);
    struct sample sample = {.key = {bytes, (int)call, 2, message_nodes(own, rank)}, .role = role};
    if (rank != MPI_PROC_NULL)
        sample.hash = message_hash(own, role, rank, tag, rank >= 0 && tag >= 0);
    count(sample, &sampled_messages, request, begun, ended);
    profile_unlock();
}

void record_exchange(enum profile_call call, MPI_Comm comm, int to, int out_tag, int from,
                     int in_tag, long long bytes, double begun, double ended) {
    profile_lock();
    struct communicator *own = communicator_of(comm);
    struct sample sample = {
        .key = {bytes, (int)call, 2, message_nodes(own, to)}, .role = ROLE_SENDS, .ready = begun};
    count_in(sample.key, ended - begun);
    sample.from = begun;
    sample.to = ended;
    if (to != MPI_PROC_NULL && (sample.hash = message_hash(own, ROLE_SENDS, to, out_tag, 1)))
        sample_keep(&sampled_messages, &sample);
    sample.role = ROLE_RECEIVES;
    sample.time = sample.blocked = ended - begun;
    if (from != MPI_PROC_NULL &&
        (sample.hash = message_hash(own, ROLE_RECEIVES, from, in_tag, from >= 0 && in_tag >= 0)))
        sample_keep(&sampled_messages, &sample);
    profile_unlock();
}

void record_made(enum profile_call call, MPI_Comm from, MPI_Comm made, double begun, double ended) {
    profile_lock();
    count_in((struct histogram_key){0, (int)call, 0, 0}, ended - begun);
    communicator_made(from, made);
    profile_unlock();
}

void record_unnumbered(MPI_Comm comm) {
    profile_lock();
    struct communicator *own = communicator_of(comm);
    if (own)
        own->unnumbered = 1;
    profile_unlock();
}

void record_collective(enum profile_call call, enum recording_role role, MPI_Comm comm,
                       long long bytes, const MPI_Request *request, double begun, double ended) {
    profile_lock();
    struct communicator *own = communicator_of(comm);
    struct sample sample = {.key = {bytes, (int)call, own ? own->ranks : 0, own ? own->nodes : 0},
                            .role = role};
    if (own && own->id && own->ranks > 1 && !recording_unordered && role != ROLE_NEIGHBOURS)
        sample.hash = sample_mix(own->id, ++own->collectives) >> 1 | 1;
    count(sample, &sampled_collectives, request, begun, ended);
    profile_unlock();
}

void record_other(enum profile_call call, long long bytes, double begun, double ended) {
    profile_lock();
    count_in((struct histogram_key){bytes, (int)call, 0, 0}, ended - begun);
    profile_unlock();
}

void record_completion(enum profile_call call, int number, const MPI_Request requests[],
                       double begun, double ended) {
    struct pending done;
    int known = 0;
    profile_lock();
    double mpi_before_s = recording_mpi_s;
    for (int i = 0; i < number; i++)
        if (requests[i] != MPI_REQUEST_NULL && pending_count)
            known += pending[pending_slot(requests[i])].taken;
    double part_s = known ? (ended - begun) / known : 0, left_s = ended - begun;
    for (int i = 0; known && i < number; i++) {
        if (requests[i] == MPI_REQUEST_NULL || !pending_take(requests[i], &done))
            continue;
        struct histogram_entry *entry = histogram_entry(done.sample.key);
        double outside_s = (begun - done.posted_s) - (mpi_before_s - done.mpi_s);
        entry->time_s += part_s;
        entry->completing_s += part_s;
        entry->outside_s += outside_s > 0 ? outside_s : 0;
        recording_mpi_s += part_s;
        left_s -= part_s;
        done.sample.time += part_s;
        done.sample.blocked = part_s;
        done.sample.from = begun;
        done.sample.to = ended;
        if (done.sample.hash)
            sample_keep(done.sample.role <= ROLE_RECEIVES ? &sampled_messages
                                                          : &sampled_collectives,
                        &done.sample);
    }
    count_in((struct histogram_key){0, (int)call, 0, 0}, left_s > 1e-12 ? left_s : 0);
    profile_unlock();
}

void record_freed(MPI_Request request) {
    struct pending freed;
    profile_lock();
    pending_take(request, &freed);
    profile_unlock();
}
