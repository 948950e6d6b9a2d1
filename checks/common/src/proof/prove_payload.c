/* SPDX-License-Identifier: Apache-2.0 */
/* The payload: a reply proves that it answers the message, and one altered byte is noticed. */
#include "assay/payload.h"
#include "proof.h"

#include <string.h>

#define MOST 40
#define COUNTER 0x0123456789ABCDEFULL

/* Over all lengths: altered end bytes of the reply that are not noticed. */
static double unnoticed_reply_bytes(void) {
    double unnoticed = 0;
    for (size_t bytes = 1; bytes <= MOST; bytes++) {
        unsigned char message[MOST] = {0}, reply[MOST] = {0};
        payload_put(message, bytes, COUNTER);
        payload_answer(reply, message, bytes);
        for (size_t at = 0; at < bytes; at++) {
            if (at >= 8 && at + 8 < bytes)
                continue; /* the middle carries no counter */
            reply[at] ^= 1;
            unnoticed += payload_answers(reply, bytes, COUNTER);
            reply[at] ^= 1;
        }
    }
    return unnoticed;
}

static double right_replies_refused(void) {
    double refused = 0;
    for (size_t bytes = 0; bytes <= MOST; bytes++) {
        unsigned char message[MOST] = {0}, reply[MOST] = {0};
        payload_put(message, bytes, COUNTER);
        payload_answer(reply, message, bytes);
        refused += !payload_answers(reply, bytes, COUNTER);
    }
    return refused;
}

static double wrong_counters_accepted(void) {
    double accepted = 0;
    for (size_t bytes = 1; bytes <= MOST; bytes++) {
        unsigned char message[MOST] = {0};
        payload_put(message, bytes, COUNTER);
        accepted += !payload_carries(message, bytes, COUNTER);
        accepted += payload_carries(message, bytes, COUNTER + 1);
    }
    return accepted;
}

static double stale_replies_accepted(void) {
    double accepted = 0;
    for (size_t bytes = 1; bytes <= MOST; bytes++) {
        unsigned char message[MOST] = {0}, reply[MOST] = {0};
        payload_put(message, bytes, COUNTER);
        payload_answer(reply, message, bytes);
        accepted += payload_answers(reply, bytes, COUNTER + 1);
    }
    return accepted;
}

static double written_outside(void) {
    double outside = 0;
    for (size_t bytes = 0; bytes <= MOST; bytes++) {
        unsigned char room[MOST + 2] = {0}, reply[MOST + 2] = {0}, zero[MOST + 2] = {0};
        payload_put(room + 1, bytes, ~0ULL);
        payload_answer(reply + 1, zero + 1, bytes);
        outside += room[0] || room[bytes + 1] || reply[0] || reply[bytes + 1];
    }
    return outside;
}

static double unnoticed_pattern_bytes(int complement) {
    unsigned char message[MOST], reply[MOST];
    double unnoticed = 0;
    payload_pattern(message, MOST, 3);
    payload_complement(reply, message, MOST);
    unsigned char *received = complement ? reply : message;
    unnoticed += payload_pattern_error(received, MOST, 3, complement) != MOST;
    for (size_t at = 0; at < MOST; at++) {
        received[at] ^= 0x10;
        unnoticed += payload_pattern_error(received, MOST, 3, complement) != at;
        received[at] ^= 0x10;
    }
    return unnoticed;
}

int main(void) {
    proof_deviation("right replies refused, 0 to 40 bytes", right_replies_refused(), 0, 0);
    proof_deviation("replies to the message before accepted", stale_replies_accepted(), 0, 0);
    proof_deviation("counters taken for others", wrong_counters_accepted(), 0, 0);
    proof_deviation("altered counter bytes not noticed", unnoticed_reply_bytes(), 0, 0);
    proof_deviation("bytes written outside the message", written_outside(), 0, 0);
    proof_deviation("altered pattern bytes not noticed", unnoticed_pattern_bytes(0), 0, 0);
    proof_deviation("altered bytes of its complement not noticed", unnoticed_pattern_bytes(1), 0,
                    0);
    return proof_status();
}
