/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PINGPONG_H
#define ASSAY_PINGPONG_H

#include "constructs.h"

#include <stdint.h>

/* One ping-pong between rank 0 (asks) and rank 1 (answers) of a communicator of two ranks, or of a
 * rank with itself in a communicator of one. */

struct pingpong {
    const struct construct *construct;
    MPI_Comm comm;                      /* of two ranks, or of one */
    int rank;                           /* 0 or 1, in comm */
    int alone;                          /* comm has one rank: both messages go to itself */
    int bytes;                          /* message length */
    unsigned char *outgoing, *incoming; /* distinct buffers of at least bytes, touched */
    uint64_t counter;                   /* round trips so far; goes into the message */
    int reply_before_wait;              /* the answerer's fault of 2003, on purpose */
    long long stale;                    /* asker: replies that do not answer the message sent */
    int inject_fault;                   /* alter a byte of each reply, which must end the run */
};

/* One round trip; collective over both ranks; context is a struct pingpong. The asker puts the
 * counter into the message, the answerer computes the reply from what it received, the asker
 * verifies it: a wrong reply ends the run (fail_if). With reply_before_wait the answerer posts its
 * receive, replies and only then waits; wrong replies are then counted as stale. A rank alone
 * posts its receive before each of the two messages, whatever the construct. */
void pingpong_round_trip(void *context);

/* One round trip of a full pattern, verified in every byte on both ranks, never with the fault.
 * Collective; a wrong byte ends the run. Outside of any timing. */
void pingpong_verify(struct pingpong *pingpong, uint64_t seed);

#endif
