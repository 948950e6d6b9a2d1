/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_TRAFFIC_H
#define ASSAY_TRAFFIC_H

#include <mpi.h>
#include <stdint.h>

/* Messages between the two endpoints, over the communicator of the pair. All calls are made by
 * both endpoints. Each message carries a pattern of its own, which traffic_verify compares. */

struct traffic {
    MPI_Comm pair;
    int rank;                           /* 0 or 1 in pair */
    int bytes, window;                  /* length of a message; messages under way at once */
    unsigned char *outgoing, *incoming; /* window × bytes each */
    MPI_Request *requests;              /* 2 × window; MPI_REQUEST_NULL when nothing is under way */
    uint64_t seed;
};

/* Write the patterns of the messages out, overwrite the place of those coming in. Local. */
void traffic_fill(struct traffic *traffic);

/* Start count ≤ window messages each way, and end what was started. */
void traffic_post(struct traffic *traffic, int count);
void traffic_wait(struct traffic *traffic);

/* One way, rank 0 to rank 1: a window of messages, answered by an empty one. context is a struct
 * traffic. */
void traffic_stream(void *context);

/* The first count messages that came in, in every byte; a difference ends the run through
 * fail_answer. Local. fault: corrupt one byte first. */
void traffic_verify(struct traffic *traffic, int count, int fault);

#endif
