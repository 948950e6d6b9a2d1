/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PVM_ECHO_H
#define ASSAY_PVM_ECHO_H

#include "protocols.h"

#include <stdint.h>

/* One echo between two tasks: the asking one sends a message that carries a counter, the partner
 * answers with what it received (assay/payload.h), the asking one checks the answer. */

struct echo {
    struct message message;
    unsigned char *outgoing, *incoming;
    uint64_t counter;
};

/* Where the time of a round trip goes on the asking task, s. */
enum echo_step { ECHO_PACK, ECHO_SEND, ECHO_WAIT, ECHO_UNPACK, ECHO_STEPS };

/* The asking task: one round trip, verified; its time in s. With steps (ECHO_STEPS of them, or
 * NULL) each step is timed too. */
double echo_ask(struct echo *echo, double *steps);

/* The partner: one answer. */
void echo_answer(struct echo *echo);

/* Both: one untimed round trip in which every byte is checked. The partner spoils a byte of its
 * answer if `fault` is 1. */
void echo_verify_ask(struct echo *echo, uint64_t seed);
void echo_verify_answer(struct echo *echo, int fault);

#endif
