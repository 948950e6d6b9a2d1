/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

#define VISIBLE __attribute__((visibility("default")))

/* An MPI profile of any program, through MPI's profiling interface: for each call and peer the
 * number of calls, bytes, time and a histogram of sizes. Linked in as profile.o or preloaded as
 * libassay_profile.so (LD_PRELOAD). Wraps all of MPI-1.2's message passing, collectives and makers
 * of communicators; calls that the library makes inside a call are not counted.
 *
 * With ASSAY_PROFILE_FOLDER in the environment each rank writes a histogram to a file in that
 * folder (recording.h). Else rank 0 prints one JSON line a rank in MPI_Finalize (collective, on its
 * own communicator):
 *   {"assay":"profile","rank":0,"ranks":2,"elapsed_s":…,"mpi_s":…,"calls":[
 *     {"call":"Isend","peer":1,"count":450,"bytes":4147200,"time_s":…,"greatest_s":…,
 *      "sizes":{"16384":450}}]}
 * peer: rank in MPI_COMM_WORLD, null if the call has none or it is unknown (MPI_ANY_SOURCE,
 * collectives, waits). bytes: of sends and receives the message length (of a posted receive the
 * length of its buffer), of collectives what this rank contributes (MPI_Bcast and scatters: the
 * root only). sizes: number of messages of up to so many bytes and more than half of that. time_s:
 * s in the call. elapsed_s: s from the first wrapped call to MPI_Finalize.
 *
 * With a library that wraps MPI_Finalize itself (evidence): this MPI_Finalize is weak when both are
 * linked in, and calls the next one when both are preloaded. A library that wraps MPI_Finalize
 * calls assay_profile_finish first, looked up with dlsym(RTLD_DEFAULT, …); one that wraps MPI_Init
 * calls assay_profile_start after it. */

/* Begin a recording: find the nodes and compare their clocks. Collective over MPI_COMM_WORLD. */
void assay_profile_start(void);

/* Print or write the profile; later calls do nothing. Collective over MPI_COMM_WORLD. */
void assay_profile_finish(void);

/* Every wrapped call of MPI-1. */
#define PROFILE_CALLS(each)                                                                        \
    each(Send) each(Bsend) each(Ssend) each(Rsend) each(Recv) each(Isend) each(Ibsend)             \
        each(Issend) each(Irsend) each(Irecv) each(Start) each(Startall) each(Sendrecv)            \
            each(Sendrecv_replace) each(Wait) each(Waitall) each(Waitany) each(Waitsome)           \
                each(Test) each(Testall) each(Testany) each(Testsome) each(Probe) each(Iprobe)     \
                    each(Barrier) each(Bcast) each(Gather) each(Gatherv) each(Scatter)             \
                        each(Scatterv) each(Allgather) each(Allgatherv) each(Alltoall)             \
                            each(Alltoallv) each(Reduce) each(Allreduce) each(Reduce_scatter)      \
                                each(Scan) each(Comm_dup) each(Comm_create) each(Comm_split)       \
                                    each(Comm_free) each(Intercomm_create) each(Intercomm_merge)   \
                                        each(Cart_create)

/* Calls that are counted in recordings only. */
#define PROFILE_LATER_MESSAGES(each)                                                               \
    each(Mprobe) each(Improbe) each(Mrecv) each(Imrecv) each(Cancel)
#define PROFILE_LATER_COLLECTIVES(each)                                                            \
    each(Alltoallw) each(Exscan) each(Reduce_scatter_block) each(Ibarrier) each(Ibcast)            \
        each(Igather) each(Igatherv) each(Iscatter) each(Iscatterv) each(Iallgather)               \
            each(Iallgatherv) each(Ialltoall) each(Ialltoallv) each(Ialltoallw) each(Ireduce)      \
                each(Iallreduce) each(Iscan) each(Iexscan) each(Ireduce_scatter)                   \
                    each(Ireduce_scatter_block) each(Neighbor_allgather) each(Neighbor_allgatherv) \
                        each(Neighbor_alltoall) each(Neighbor_alltoallv) each(Neighbor_alltoallw)  \
                            each(Ineighbor_allgather) each(Ineighbor_allgatherv)                   \
                                each(Ineighbor_alltoall) each(Ineighbor_alltoallv)                 \
                                    each(Ineighbor_alltoallw)
#define PROFILE_WINDOWS(each)                                                                      \
    each(Put) each(Rput) each(Get) each(Rget) each(Accumulate) each(Raccumulate)                   \
        each(Get_accumulate) each(Rget_accumulate) each(Fetch_and_op) each(Compare_and_swap)       \
            each(Win_create) each(Win_create_dynamic) each(Win_allocate) each(Win_allocate_shared) \
                each(Win_free) each(Win_fence) each(Win_post) each(Win_start) each(Win_complete)   \
                    each(Win_wait) each(Win_test) each(Win_lock) each(Win_lock_all)                \
                        each(Win_unlock) each(Win_unlock_all) each(Win_flush) each(Win_flush_all)  \
                            each(Win_flush_local) each(Win_flush_local_all) each(Win_sync)
#define PROFILE_LATER_COMMUNICATORS(each)                                                          \
    each(Cart_sub) each(Comm_split_type) each(Graph_create) each(Dist_graph_create)                \
        each(Dist_graph_create_adjacent) each(Comm_create_group) each(Comm_idup) each(Comm_spawn)  \
            each(Comm_spawn_multiple) each(Comm_accept) each(Comm_connect) each(Comm_disconnect)
#define PROFILE_LATER_CALLS(each)                                                                  \
    PROFILE_LATER_MESSAGES(each)                                                                   \
    PROFILE_LATER_COLLECTIVES(each) PROFILE_WINDOWS(each) PROFILE_LATER_COMMUNICATORS(each)

#define PROFILE_NAME(name) PROFILE_##name,
enum profile_call {
    PROFILE_CALLS(PROFILE_NAME) PROFILE_CALL_COUNT,
    PROFILE_BEFORE_LATER = PROFILE_CALL_COUNT - 1,
    PROFILE_LATER_CALLS(PROFILE_NAME) PROFILE_ALL_COUNT
};
#undef PROFILE_NAME

enum { PROFILE_SIZES = 34 }; /* 0, 1, 2, 4 … 2^32 and more */
enum { PROFILE_NO_PEER = -1 };

struct profile_entry {
    long long count, bytes;
    double time_s, greatest_s;
    long long sizes[PROFILE_SIZES]; /* of calls with a message */
};

/* For the wrappers; local and thread-safe. begin returns the clock, s, or -1 inside another wrapped
 * call; leave ends what it began; count counts one call. bytes -1: the call has no message. */
double profile_begin(void);
void profile_leave(void);
void profile_count(enum profile_call call, int peer, long long bytes, double begun, double ended);

/* Count a message without time: one of several of a call. */
void profile_share(enum profile_call call, int peer, long long bytes);

/* Held while the profile's own data change. */
void profile_lock(void);
void profile_unlock(void);

/* World rank of a rank of comm, or PROFILE_NO_PEER; bytes of count items of a type. */
int profile_peer(MPI_Comm comm, int rank);
long long profile_bytes(int count, MPI_Datatype type);

/* The entry of a call and peer, NULL if none was counted. */
const struct profile_entry *profile_entry(enum profile_call call, int peer);
extern const char *const profile_names[PROFILE_ALL_COUNT];
double profile_elapsed(void);

/* MPI-3 added const to input buffers. */
#if MPI_VERSION >= 3
#define PROFILE_CONST const
#else
#define PROFILE_CONST
#endif
