/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Datagrams between two ends that have a TCP connection, over which they tell their ports and what
 * is asked. The answering end reflects whatever comes. A datagram that was lost, or whose answer
 * was, is sent again; any other error ends the run (fail_if). */

#define DATAGRAM_MOST 65507 /* bytes in one UDP datagram over IPv4 */

/* A datagram without an answer is sent again after so long, so often in a row at most. */
#define DATAGRAM_PATIENCE_MS 100
#define DATAGRAM_TRIES 30

struct datagrams {
    int control, socket;                /* TCP connection; UDP socket, connected */
    size_t bytes;                       /* of each datagram, 1 … DATAGRAM_MOST */
    unsigned char *outgoing, *incoming; /* distinct buffers of at least bytes, touched */
    uint64_t counter;                   /* round trips so far; goes into the datagram */
    long long lost;                     /* datagrams without an answer so far */
    long long late;                     /* answers to these that may still come */
    int inject_fault;                   /* deliberate fault: corrupt a byte of each answer */
};

/* Make the UDP socket. Collective over both ends. */
void datagrams_open(struct datagrams *datagrams);

/* The asking end. Say what length follows, 0 at the end; whole: the answers shall complement every
 * byte, else those that carry the counter. */
void datagrams_announce(struct datagrams *datagrams, size_t bytes, int whole);

/* The asking end: one round trip; context is a struct datagrams. A wrong answer ends the run
 * (fail_answer), but for one late answer to each datagram that was given up. */
void datagrams_round_trip(void *context);

/* The asking end: one untimed round trip of a full pattern, every byte of the answer verified. */
void datagrams_verify(struct datagrams *datagrams, uint64_t seed);

/* The answering end: reflect all datagrams until the end is announced. */
void datagrams_reflect(struct datagrams *datagrams);
