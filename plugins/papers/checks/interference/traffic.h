/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>
#include <stdint.h>

/* Messages between the two endpoints, which both make every call. Each message carries its own
 * pattern, which traffic_verify compares. */

struct traffic {
    MPI_Comm pair;
    int rank;                           /* 0 or 1 in pair */
    int bytes, window;                  /* length of a message; messages in flight */
    unsigned char *outgoing, *incoming; /* window × bytes each */
    MPI_Request *requests;              /* 2 × window; MPI_REQUEST_NULL if none is in flight */
    uint64_t seed;
};

/* Write the patterns of outgoing messages, invalidate the buffers of incoming ones. Local. */
void traffic_fill(struct traffic *traffic);

/* Start count ≤ window messages each way; wait for all that were started. */
void traffic_post(struct traffic *traffic, int count);
void traffic_wait(struct traffic *traffic);

/* A window of messages from rank 0 to rank 1, acknowledged by an empty one. context is a struct
 * traffic. */
void traffic_stream(void *context);

/* Verify every byte of the first count incoming messages; a difference ends the run (fail_answer).
 * fault: corrupt one byte first. Local. */
void traffic_verify(struct traffic *traffic, int count, int fault);
