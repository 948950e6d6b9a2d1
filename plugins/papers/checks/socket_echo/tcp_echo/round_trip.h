/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A round trip over a TCP connection: the asking end sends a message that carries a counter, the
 * other one answers it (assay/payload.h), the asking end verifies the answer. */
struct round_trip {
    int socket, asks;                   /* asks: 1 at the asking end */
    size_t bytes;                       /* message length, above 0 */
    unsigned char *outgoing, *incoming; /* distinct buffers of at least bytes, touched */
    uint64_t counter;                   /* round trips so far; goes into the message */
    int inject_fault;                   /* deliberate fault: corrupt a byte of each answer */
};

/* context is a struct round_trip. A wrong answer ends the run (fail_answer). Collective over both
 * ends. */
void round_trip(void *context);

/* One untimed round trip of a full pattern, every byte verified at both ends. Collective over both
 * ends. */
void round_trip_verify(struct round_trip *trip, uint64_t seed);
