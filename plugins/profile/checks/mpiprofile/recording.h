/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile.h"

/* A recording: what assay_profile_start begins where ASSAY_PROFILE_FOLDER names a folder, and each
 * rank writes there as rank.NUMBER.PROCESS.json: in MPI_Finalize, MPI_Abort and exit, and now and
 * then before, so that a program that is killed leaves what it had done until then.
 *
 *   {"assay":"recording","rank":…,"ranks":…,"node":…,"nodes":…,"library":…,"complete":…,
 *    "unordered":…,"elapsed_s":…,"mpi_s":…,"level":…,"clock":[AT,OFFSET,ERROR,AT,OFFSET,ERROR],
 *    "entries":[[CALL,LEAST,GREATEST,BYTES,RANKS,NODES,COUNT,TIME,COMPLETING,OUTSIDE]…],
 *    "samples":[[HASH,ROLE,RANKS,ENTRY,READY,FROM,TO,TIME,BLOCKED]…]}
 *
 * Times of entries are seconds; those of samples, and the clock's, ns of CLOCK_MONOTONIC. A sample
 * has the hash of what both ends of a message (all RANKS of a collective call) know of it without a
 * message between them: communicator, tag, ranks, and how many there were before. Those of the
 * least hashes are kept, so that all ranks keep the same. A rank waited if it was blocked (FROM,
 * TO) before the others were READY. TIME is the call's, BLOCKED the part of it between FROM and TO.
 * clock: what rank 0's clock shows less this node's, at the begin and the end, from the lowest rank
 * of each node. */

/* How a sampled call relates to its partners. */
enum recording_role {
    ROLE_SENDS,
    ROLE_RECEIVES,
    ROLE_ALL,       /* a collective call in which each waits for each */
    ROLE_GIVES,     /* the root of MPI_Bcast or MPI_Scatter */
    ROLE_IS_GIVEN,  /* one of the others */
    ROLE_NEIGHBOURS /* not sampled */
};

/* 1 if a recording is on: calls are counted by the following, not by profile_count. */
extern int recording;
/* 1 in a program that another one spawned: it has no recording, and prints no profile. */
extern int recording_spawned;
/* 1 from when messages and collective calls cannot be numbered: several threads, MPI_Cancel. */
extern int recording_unordered;
extern double recording_begun_s, recording_mpi_s; /* end of MPI_Init; time in MPI so far */

/* Write the rank's file so far. Local. */
void recording_write(int complete);
/* Write it if the last time is long ago. Local. */
void recording_now_and_then(double now_s);
/* End the recording and write the file. Collective over MPI_COMM_WORLD. */
void recording_finish(void);

/* Count a call. request: of a nonblocking or started one, else NULL. bytes as in
 * plugins/profile/application_profile.py. comm may be MPI_COMM_NULL. */
void record_message(enum profile_call call, enum recording_role role, MPI_Comm comm, int rank,
                    int tag, long long bytes, const MPI_Request *request, double begun,
                    double ended);
void record_collective(enum profile_call call, enum recording_role role, MPI_Comm comm,
                       long long bytes, const MPI_Request *request, double begun, double ended);
void record_other(enum profile_call call, long long bytes, double begun, double ended);

/* Count a call that made a communicator of all or some ranks of `from`. */
void record_made(enum profile_call call, MPI_Comm from, MPI_Comm made, double begun, double ended);

/* Count a call that completed these requests (as they were before it; number 0: none). */
void record_completion(enum profile_call call, int number, const MPI_Request requests[],
                       double begun, double ended);

/* MPI_Sendrecv: one call, with the size of the message sent; two samples, of which that of the
 * message received has the time. */
void record_exchange(enum profile_call call, MPI_Comm comm, int to, int out_tag, int from,
                     int in_tag, long long bytes, double begun, double ended);

/* Forget a request that the program frees. */
void record_freed(MPI_Request request);

/* comm's later receives are not sampled: this one took a message that cannot be numbered. */
void record_unnumbered(MPI_Comm comm);

/* ---- communicators.c ---- */

/* What is known of a communicator. id is the same on all of its ranks, 0 if it is unknown. */
struct communicator {
    int *world; /* rank in MPI_COMM_WORLD of each rank; NULL of an intercommunicator */
    int ranks, nodes;
    unsigned long long id, collectives, made;
    int unnumbered; /* receives cannot be numbered */
};

/* Never NULL but when out of memory. The profile's lock is held. */
struct communicator *communicator_of(MPI_Comm comm);

/* Name a communicator that was made by a collective call of `from`. */
void communicator_made(MPI_Comm from, MPI_Comm made);

/* The node of each rank of MPI_COMM_WORLD, NULL until assay_profile_start. */
extern int *recording_node;
extern int recording_rank, recording_ranks, recording_nodes;

/* ---- histogram.c ---- */

struct histogram_key {
    long long bytes;
    int call, ranks, nodes;
};

struct histogram_entry {
    struct histogram_key key;
    long long least, greatest, bytes, count;
    double time_s, completing_s, outside_s;
};

/* The entry of a key, made if need be. When the table is full, sizes, and later communicators, are
 * merged. The pointer is valid until the next call. */
struct histogram_entry *histogram_entry(struct histogram_key key);
/* Entries in the order in which they are written; the index of a key's. */
int histogram_count(void);
const struct histogram_entry *histogram_at(int index);
int histogram_index(struct histogram_key key);
extern int histogram_level;

/* ---- samples.c ---- */

struct sample {
    unsigned long long hash; /* 0: not sampled */
    struct histogram_key key;
    enum recording_role role;
    double ready, from, to, time, blocked;
};

/* Of the samples with the least hashes. */
struct samples {
    unsigned long long limit; /* greater hashes are not kept */
    int count;
    struct sample *kept;
};
extern struct samples sampled_messages, sampled_collectives;

/* Sebastiano Vigna's splitmix64. */
static inline unsigned long long sample_mix(unsigned long long one, unsigned long long other) {
    unsigned long long mixed = one + 0x9e3779b97f4a7c15ULL * (other + 1);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
}
/* Number of earlier messages of a channel, and one more now; -1 if there are too many channels. */
long long sample_number(unsigned long long channel);
void sample_keep(struct samples *samples, const struct sample *sample);

/* ---- clocks.c ---- */

/* ns: what rank 0's clock shows less this one's, and its uncertainty, for the lowest rank of each
 * node; 0 else. Collective over comm, a duplicate of MPI_COMM_WORLD; first: lowest rank of every
 * node. */
void clocks_compare(MPI_Comm comm, const int *first, int nodes, long long compared[3]);
