/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* poll */
#include "datagram.h"

#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/payload.h"
#include "sockets/connection.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* What the asking end announces. */
struct order {
    long long bytes, whole;
};

void datagrams_open(struct datagrams *d) {
    struct sockaddr_in own, peer;
    socklen_t size = sizeof own;
    in_port_t port;
    memset(&own, 0, sizeof own);
    own.sin_family = AF_INET;
    d->socket = socket(AF_INET, SOCK_DGRAM, 0);
    fail_if(d->socket < 0 || bind(d->socket, (struct sockaddr *)&own, sizeof own) != 0 ||
                getsockname(d->socket, (struct sockaddr *)&own, &size) != 0,
            __func__, "no UDP port: %s", strerror(errno));
    connection_send(d->control, &own.sin_port, sizeof own.sin_port);
    connection_receive(d->control, &port, sizeof port);
    size = sizeof peer;
    int wrong = getpeername(d->control, (struct sockaddr *)&peer, &size);
    peer.sin_port = port;
    fail_if(wrong || connect(d->socket, (struct sockaddr *)&peer, sizeof peer) != 0, __func__,
            "the other end's UDP port: %s", strerror(errno));
}

void datagrams_announce(struct datagrams *d, size_t bytes, int whole) {
    struct order order = {(long long)bytes, whole};
    d->bytes = bytes;
    connection_send(d->control, &order, sizeof order);
    char heard;
    if (bytes > 0)
        connection_receive(d->control, &heard, sizeof heard);
}

static void send_datagram(struct datagrams *d) {
    ssize_t sent;
    do {
        sent = send(d->socket, d->outgoing, d->bytes, 0);
    } while (sent < 0 && errno == EINTR);
    /* Full queues lose a datagram as the network does. */
    fail_if(sent < 0 && errno != ENOBUFS && errno != EAGAIN, __func__, "%zu bytes: %s", d->bytes,
            strerror(errno));
}

/* 1 if a datagram of the right length has come within the patience; others, which are late answers
 * of an earlier length, are dropped meanwhile. */
static int receive_datagram(struct datagrams *d) {
    double end = timing_monotonic() + 1e-3 * DATAGRAM_PATIENCE_MS;
    for (double left_s = 1e-3 * DATAGRAM_PATIENCE_MS; left_s > 0;
         left_s = end - timing_monotonic()) {
        struct pollfd waiting = {d->socket, POLLIN, 0};
        int ready = poll(&waiting, 1, (int)ceil(1e3 * left_s));
        fail_if(ready < 0 && errno != EINTR, __func__, "poll: %s", strerror(errno));
        if (ready <= 0)
            continue;
        ssize_t arrived = recv(d->socket, d->incoming, d->bytes, MSG_DONTWAIT | MSG_TRUNC);
        fail_if(arrived < 0 && errno != EINTR && errno != EAGAIN, __func__,
                "from the other end: %s", strerror(errno));
        if (arrived == (ssize_t)d->bytes)
            return 1;
    }
    return 0;
}

/* Send until `answers` accepts what comes back. */
static void exchange(struct datagrams *d, int (*answers)(const struct datagrams *)) {
    for (int tries = 0; tries < DATAGRAM_TRIES; tries++) {
        send_datagram(d);
        while (receive_datagram(d)) {
            if (answers(d))
                return;
            fail_answer(d->late-- == 0, "datagram",
                        "the reply to datagram %llu of %zu bytes does not answer it",
                        (unsigned long long)d->counter, d->bytes);
        }
        d->lost++;
        d->late++;
    }
    fail_if(1, "datagram", "%d datagrams of %zu bytes in a row had no answer within %d ms each",
            DATAGRAM_TRIES, d->bytes, DATAGRAM_PATIENCE_MS);
}

static int answers_counter(const struct datagrams *d) {
    return payload_answers(d->incoming, d->bytes, d->counter);
}

void datagrams_round_trip(void *context) {
    struct datagrams *d = context;
    d->counter++;
    payload_put(d->outgoing, d->bytes, d->counter);
    exchange(d, answers_counter);
}

/* The pattern that the answer to `outgoing` must complement. */
static int answers_whole(const struct datagrams *d) {
    for (size_t i = 0; i < d->bytes; i++)
        if (d->incoming[i] != (unsigned char)~d->outgoing[i])
            return 0;
    return 1;
}

void datagrams_verify(struct datagrams *d, uint64_t seed) {
    payload_pattern(d->outgoing, d->bytes, seed);
    exchange(d, answers_whole);
}

void datagrams_reflect(struct datagrams *d) {
    struct order order = {0, 0};
    struct pollfd waiting[] = {{d->socket, POLLIN, 0}, {d->control, POLLIN, 0}};
    for (;;) {
        fail_if(poll(waiting, 2, -1) < 0 && errno != EINTR, __func__, "%s", strerror(errno));
        if (waiting[1].revents) {
            connection_receive(d->control, &order, sizeof order);
            if (order.bytes == 0)
                return;
            fail_if(order.bytes < 0 || order.bytes > DATAGRAM_MOST, __func__,
                    "found %lld bytes, allowed are at most %d", order.bytes, DATAGRAM_MOST);
            d->bytes = (size_t)order.bytes;
            connection_send(d->control, "", 1);
        }
        if (!(waiting[0].revents & POLLIN))
            continue;
        ssize_t arrived = recv(d->socket, d->incoming, d->bytes, MSG_DONTWAIT | MSG_TRUNC);
        if (arrived != (ssize_t)d->bytes)
            continue; /* of an earlier length, come late */
        if (order.whole)
            payload_complement(d->outgoing, d->incoming, d->bytes);
        else
            payload_answer(d->outgoing, d->incoming, d->bytes);
        if (d->inject_fault)
            d->outgoing[0] ^= 1;
        send_datagram(d);
    }
}
