/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "constructs.h"

#include <stdint.h>

/* A ping-pong between rank 0 (the asker) and rank 1 (the answerer) of a communicator of two ranks,
 * or of a rank with itself in a communicator of one. */

struct pingpong {
    const struct construct *construct;
    MPI_Comm comm;                      /* of two ranks, or of one */
    const MPI_Comm *side;               /* ranks of a node that send at the same time; or NULL */
    int rank;                           /* 0 or 1, in comm */
    int alone;                          /* comm has one rank, which sends to itself */
    int bytes;                          /* message length */
    unsigned char *outgoing, *incoming; /* distinct buffers of at least bytes, touched */
    uint64_t counter;                   /* round trips so far; goes into the message */
    int reply_before_wait;              /* deliberate fault: reply before MPI_Wait */
    long long stale;                    /* asker: replies that do not answer the message sent */
    int inject_fault;                   /* deliberate fault: corrupt a byte of each reply */
};

/* One round trip; context is a struct pingpong. Collective over comm. The asker puts the counter
 * into the message, the answerer computes the reply from what it received, and the asker verifies
 * it: a wrong reply ends the run (fail_answer). The ranks of a side wait for each other before they
 * send, so that all messages between two nodes go one way at a time. With reply_before_wait the
 * answerer posts its receive, replies and only then waits; wrong replies are counted as stale
 * instead. A rank alone posts its receive before each of the two messages, whatever the construct.
 */
void pingpong_round_trip(void *context);

/* One untimed round trip of a full pattern, every byte verified on both ranks, without deliberate
 * faults. Collective over comm; a wrong byte ends the run (fail_answer). */
void pingpong_verify(struct pingpong *pingpong, uint64_t seed);
