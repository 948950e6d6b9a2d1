/* SPDX-License-Identifier: Apache-2.0 */
#include "round_trip.h"

#include "assay/fail.h"
#include "assay/payload.h"
#include "sockets/connection.h"

void round_trip(void *context) {
    struct round_trip *trip = context;
    trip->counter++;
    if (trip->asks) {
        payload_put(trip->outgoing, trip->bytes, trip->counter);
        connection_send(trip->socket, trip->outgoing, trip->bytes);
        connection_receive(trip->socket, trip->incoming, trip->bytes);
        fail_answer(!payload_answers(trip->incoming, trip->bytes, trip->counter), __func__,
                    "the reply to message %llu of %zu bytes does not answer it",
                    (unsigned long long)trip->counter, trip->bytes);
    } else {
        connection_receive(trip->socket, trip->incoming, trip->bytes);
        payload_answer(trip->outgoing, trip->incoming, trip->bytes);
        if (trip->inject_fault)
            trip->outgoing[0] ^= 1;
        connection_send(trip->socket, trip->outgoing, trip->bytes);
    }
}

void round_trip_verify(struct round_trip *trip, uint64_t seed) {
    if (trip->asks) {
        payload_pattern(trip->outgoing, trip->bytes, seed);
        connection_send(trip->socket, trip->outgoing, trip->bytes);
    }
    connection_receive(trip->socket, trip->incoming, trip->bytes);
    size_t at = payload_pattern_error(trip->incoming, trip->bytes, seed, trip->asks);
    fail_answer(at < trip->bytes, __func__, "byte %zu of %zu is not what was sent", at,
                trip->bytes);
    if (!trip->asks) {
        payload_complement(trip->outgoing, trip->incoming, trip->bytes);
        connection_send(trip->socket, trip->outgoing, trip->bytes);
    }
}
