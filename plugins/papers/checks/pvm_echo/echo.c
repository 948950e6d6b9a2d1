/* SPDX-License-Identifier: Apache-2.0 */
#include "echo.h"

#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/payload.h"

static void put(struct echo *echo) {
    message_pack(&echo->message, echo->outgoing);
    message_send(&echo->message, echo->outgoing);
}

static void get(struct echo *echo) {
    message_wait(&echo->message, echo->incoming);
    message_unpack(&echo->message, echo->incoming);
}

double echo_ask(struct echo *echo, double *steps) {
    const struct message *message = &echo->message;
    double at[ECHO_STEPS + 1];
    payload_put(echo->outgoing, message->bytes, ++echo->counter);
    at[0] = timing_monotonic();
    if (steps) {
        message_pack(message, echo->outgoing);
        at[1] = timing_monotonic();
        message_send(message, echo->outgoing);
        at[2] = timing_monotonic();
        message_wait(message, echo->incoming);
        at[3] = timing_monotonic();
        message_unpack(message, echo->incoming);
    } else {
        put(echo);
        get(echo);
    }
    at[ECHO_STEPS] = timing_monotonic();
    for (int step = 0; steps && step < ECHO_STEPS; step++)
        steps[step] = at[step + 1] - at[step];
    fail_answer(!payload_answers(echo->incoming, message->bytes, echo->counter), __func__,
                "the reply to message %llu of %zu bytes (%s) does not answer it",
                (unsigned long long)echo->counter, message->bytes, message->protocol->name);
    return at[ECHO_STEPS] - at[0];
}

void echo_answer(struct echo *echo) {
    get(echo);
    payload_answer(echo->outgoing, echo->incoming, echo->message.bytes);
    put(echo);
}

void echo_verify_ask(struct echo *echo, uint64_t seed) {
    size_t bytes = echo->message.bytes;
    payload_pattern(echo->outgoing, bytes, seed);
    put(echo);
    get(echo);
    size_t at = payload_pattern_error(echo->incoming, bytes, seed, 1);
    fail_answer(at < bytes, __func__, "byte %zu of %zu is not what was sent (%s)", at, bytes,
                echo->message.protocol->name);
}

void echo_verify_answer(struct echo *echo, int fault) {
    size_t bytes = echo->message.bytes;
    get(echo);
    payload_complement(echo->outgoing, echo->incoming, bytes);
    if (fault && bytes > 0)
        echo->outgoing[bytes / 2] ^= 1;
    put(echo);
}
