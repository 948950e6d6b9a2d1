/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PROFILE_H
#define ASSAY_PROFILE_H

#include <mpi.h>

/* An MPI profile of any program, through MPI's profiling interface: for each call and peer the
 * number of calls, bytes, time and a histogram of sizes; linked in as profile.o or laid before a
 * foreign program as libassay_profile.so (LD_PRELOAD). All of MPI-1.2's message passing,
 * collectives and makers of communicators are wrapped; calls that the library makes inside a call
 * are not counted.
 *
 * In MPI_Finalize rank 0 prints one JSON line a rank (collective, on a communicator of its own):
 *   {"assay":"profile","rank":0,"ranks":2,"elapsed_s":…,"mpi_s":…,"calls":[
 *     {"call":"Isend","peer":1,"count":450,"bytes":4147200,"time_s":…,"greatest_s":…,
 *      "sizes":{"16384":450}}]}
 * peer: rank in MPI_COMM_WORLD, null where a call has none or it is not known (MPI_ANY_SOURCE,
 * collectives, waits). bytes: of sends and receives the message (of a receive that is only posted,
 * its room); of collectives what this rank hands in (MPI_Bcast and scatters: at the root only).
 * sizes: messages with up to so many bytes, but more than half of that. time_s: seconds in the
 * call. elapsed_s: from the first wrapped call to MPI_Finalize; not wrapped: MPI_Init.
 *
 * Beside a library that wraps MPI_Finalize itself (the evidence library): this one's MPI_Finalize
 * is weak when both are linked in, and hands on to the next one when both are preloaded. Whoever
 * wraps MPI_Finalize calls assay_profile_finish first, looked up with dlsym(RTLD_DEFAULT, …). */

/* Print the profile now, once; later calls do nothing. Collective over MPI_COMM_WORLD. */
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
    long long sizes[PROFILE_SIZES]; /* of calls that move a message */
};

/* For the wrappers, all local and safe in any thread. begin returns the clock, or -1 inside
 * another wrapped call; end adds one call. bytes -1: the call moves no message. */
double profile_begin(void);
void profile_end(enum profile_call call, int peer, long long bytes, double begun, double ended);
double profile_now(void); /* seconds of the monotonic clock */

/* Add a message without time: the share of one peer in a call for several. */
void profile_share(enum profile_call call, int peer, long long bytes);

/* World rank of a rank of comm, or PROFILE_NO_PEER; bytes of count items of a type. */
int profile_peer(MPI_Comm comm, int rank);
long long profile_bytes(int count, MPI_Datatype type);

/* What has been counted: entry of a call and peer, NULL if there was none. */
const struct profile_entry *profile_entry(enum profile_call call, int peer);
extern const char *const profile_names[PROFILE_CALL_COUNT];
double profile_elapsed(void);

/* MPI-3 made what is only read const. */
#if MPI_VERSION >= 3
#define PROFILE_CONST const
#else
#define PROFILE_CONST
#endif

#endif
