/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

#define VISIBLE __attribute__((visibility("default")))

/* An MPI profile of any program, through MPI's profiling interface: for each call and peer the
 * number of calls, bytes, time and a histogram of sizes. Linked in as profile.o or preloaded as
 * libassay_profile.so (LD_PRELOAD). Wraps all of MPI-1.2's message passing, collectives and makers
 * of communicators; calls that the library makes inside a call are not counted.
 *
 * In MPI_Finalize rank 0 prints one JSON line a rank (collective, on its own communicator):
 *   {"assay":"profile","rank":0,"ranks":2,"elapsed_s":…,"mpi_s":…,"calls":[
 *     {"call":"Isend","peer":1,"count":450,"bytes":4147200,"time_s":…,"greatest_s":…,
 *      "sizes":{"16384":450}}]}
 * peer: rank in MPI_COMM_WORLD, null if the call has none or it is unknown (MPI_ANY_SOURCE,
 * collectives, waits). bytes: of sends and receives the message length (of a posted receive the
 * length of its buffer), of collectives what this rank contributes (MPI_Bcast and scatters: the
 * root only). sizes: number of messages of up to so many bytes and more than half of that. time_s:
 * s in the call. elapsed_s: s from the first wrapped call to MPI_Finalize; MPI_Init is not wrapped.
 *
 * With a library that wraps MPI_Finalize itself (evidence): this MPI_Finalize is weak when both are
 * linked in, and calls the next one when both are preloaded. Whoever wraps MPI_Finalize calls
 * assay_profile_finish first, looked up with dlsym(RTLD_DEFAULT, …). */

/* Print the profile; later calls do nothing. Collective over MPI_COMM_WORLD. */
void assay_profile_finish(void);

/* Every wrapped call. */
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

#define PROFILE_NAME(name) PROFILE_##name,
enum profile_call { PROFILE_CALLS(PROFILE_NAME) PROFILE_CALL_COUNT };
#undef PROFILE_NAME

enum { PROFILE_SIZES = 34 }; /* 0, 1, 2, 4 … 2^32 and more */
enum { PROFILE_NO_PEER = -1 };

struct profile_entry {
    long long count, bytes;
    double time_s, greatest_s;
    long long sizes[PROFILE_SIZES]; /* of calls with a message */
};

/* For the wrappers; local and thread-safe. begin returns the clock, s, or -1 inside another wrapped
 * call; end counts one call. bytes -1: the call has no message. */
double profile_begin(void);
void profile_end(enum profile_call call, int peer, long long bytes, double begun, double ended);

/* Count a message without time: one of several of a call. */
void profile_share(enum profile_call call, int peer, long long bytes);

/* World rank of a rank of comm, or PROFILE_NO_PEER; bytes of count items of a type. */
int profile_peer(MPI_Comm comm, int rank);
long long profile_bytes(int count, MPI_Datatype type);

/* The entry of a call and peer, NULL if none was counted. */
const struct profile_entry *profile_entry(enum profile_call call, int peer);
extern const char *const profile_names[PROFILE_CALL_COUNT];
double profile_elapsed(void);

/* MPI-3 added const to input buffers. */
#if MPI_VERSION >= 3
#define PROFILE_CONST const
#else
#define PROFILE_CONST
#endif
