/* SPDX-License-Identifier: Apache-2.0 */
/* The payload: a reply is verified to answer the message, and one altered byte is noticed. */
#include "assay/payload.h"
#include "proof.h"

#define MOST 40
#define COUNTER 0xF123456789ABCDEFULL /* every byte and its complement differ from 0 */

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
    double refused = 0, stale = 0, taken = 0, unnoticed = 0, outside = 0;
    for (size_t bytes = 0; bytes <= MOST; bytes++) {
        unsigned char message[MOST + 2] = {0}, reply[MOST + 2] = {0};
        payload_put(message + 1, bytes, COUNTER);
        payload_answer(reply + 1, message + 1, bytes);
        outside += message[0] || message[bytes + 1] || reply[0] || reply[bytes + 1];
        refused += !payload_carries(message + 1, bytes, COUNTER);
        refused += !payload_answers(reply + 1, bytes, COUNTER);
        if (bytes == 0)
            continue; /* carries nothing */
        taken += payload_carries(message + 1, bytes, COUNTER + 1);
        stale += payload_answers(reply + 1, bytes, COUNTER + 1);
        for (size_t at = 0; at < bytes; at++) {
            if (at >= 8 && at + 8 < bytes)
                continue; /* the middle carries no counter */
            reply[1 + at] ^= 1;
            unnoticed += payload_answers(reply + 1, bytes, COUNTER);
            reply[1 + at] ^= 1;
        }
    }
    proof_deviation("right messages refused, 0 to 40 bytes", refused, 0, 0);
    proof_deviation("replies to the message before accepted", stale, 0, 0);
    proof_deviation("counters taken for others", taken, 0, 0);
    proof_deviation("altered counter bytes not noticed", unnoticed, 0, 0);
    proof_deviation("bytes written outside the message", outside, 0, 0);
    proof_deviation("altered pattern bytes not noticed", unnoticed_pattern_bytes(0), 0, 0);
    proof_deviation("altered bytes of its complement not noticed", unnoticed_pattern_bytes(1), 0,
                    0);
    return proof_status();
}
