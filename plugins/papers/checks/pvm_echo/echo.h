/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "protocols.h"

#include <stdint.h>

/* An echo between two tasks: the asking one sends a message that carries a counter, the partner
 * answers it (assay/payload.h), the asking one verifies the answer. */

struct echo {
    struct message message;
    unsigned char *outgoing, *incoming;
    uint64_t counter;
};

/* The steps of a round trip on the asking task. */
enum echo_step { ECHO_PACK, ECHO_SEND, ECHO_WAIT, ECHO_UNPACK, ECHO_STEPS };

/* The asking task: one verified round trip; returns its duration, s. steps: room for the durations
 * of ECHO_STEPS steps, or NULL. */
double echo_ask(struct echo *echo, double *steps);

/* The partner: answer one message. */
void echo_answer(struct echo *echo);

/* One untimed round trip, every byte verified: the asking task and the partner. fault: the partner
 * corrupts a byte of its answer. */
void echo_verify_ask(struct echo *echo, uint64_t seed);
void echo_verify_answer(struct echo *echo, int fault);
