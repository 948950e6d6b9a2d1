/* SPDX-License-Identifier: Apache-2.0 */
#include "pingpong.h"

#include "barrier.h"
#include "fail.h"
#include "payload.h"

#define TAG 1

static void send_message(struct pingpong *p) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    if (p->side)
        barrier_disseminate(*p->side);
    p->construct->send(p->outgoing, p->bytes, 1 - p->rank, TAG, p->comm, &request);
    if (p->construct->send_waits)
        MPI_Wait(&request, &status);
}

static void post(struct pingpong *p, MPI_Request *request) {
    if (p->construct->receive_posted)
        MPI_Irecv(p->incoming, p->bytes, MPI_BYTE, 1 - p->rank, TAG, p->comm, request);
}

static void complete(struct pingpong *p, MPI_Request *request) {
    MPI_Status status;
    if (p->construct->receive_posted)
        MPI_Wait(request, &status);
    else
        MPI_Recv(p->incoming, p->bytes, MPI_BYTE, 1 - p->rank, TAG, p->comm, &status);
}

/* The asker: the reply must answer the message that carried the counter. */
static void judge(struct pingpong *p) {
    if (payload_answers(p->incoming, (size_t)p->bytes, p->counter))
        return;
    fail_answer(!p->reply_before_wait, __func__,
                "the reply to message %llu of %d bytes (%s) does not answer it",
                (unsigned long long)p->counter, p->bytes, p->construct->name);
    p->stale++;
}

static void write_answer(struct pingpong *p) {
    payload_answer(p->outgoing, p->incoming, (size_t)p->bytes);
    if (p->inject_fault && p->bytes > 0)
        p->outgoing[0] ^= 1;
}

static void send_to_itself(struct pingpong *p) {
    MPI_Request receive, send = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Irecv(p->incoming, p->bytes, MPI_BYTE, 0, TAG, p->comm, &receive);
    p->construct->send(p->outgoing, p->bytes, 0, TAG, p->comm, &send);
    MPI_Wait(&receive, &status);
    if (p->construct->send_waits)
        MPI_Wait(&send, &status);
}

void pingpong_round_trip(void *context) {
    struct pingpong *p = context;
    MPI_Request request = MPI_REQUEST_NULL;
    p->counter++;
    if (p->rank == 0)
        payload_put(p->outgoing, (size_t)p->bytes, p->counter);
    if (p->alone) {
        send_to_itself(p);
        write_answer(p);
        send_to_itself(p);
        judge(p);
    } else if (p->rank == 0) {
        post(p, &request);
        send_message(p);
        complete(p, &request);
        judge(p);
    } else {
        post(p, &request);
        if (!p->reply_before_wait)
            complete(p, &request);
        write_answer(p);
        send_message(p);
        if (p->reply_before_wait)
            complete(p, &request);
    }
}

static void verify(const struct pingpong *p, uint64_t seed, int complement) {
    size_t bytes = (size_t)p->bytes;
    size_t at = payload_pattern_error(p->incoming, bytes, seed, complement);
    fail_answer(at < bytes, "pingpong_verify", "byte %zu of %zu is not what was sent (%s)", at,
                bytes, p->construct->name);
}

void pingpong_verify(struct pingpong *p, uint64_t seed) {
    MPI_Request request = MPI_REQUEST_NULL;
    size_t bytes = (size_t)p->bytes;
    if (p->alone) {
        payload_pattern(p->outgoing, bytes, seed);
        send_to_itself(p);
        verify(p, seed, 0);
        return;
    }
    if (p->rank == 0)
        payload_pattern(p->outgoing, bytes, seed);
    post(p, &request);
    if (p->rank == 0)
        send_message(p);
    complete(p, &request);
    verify(p, seed, p->rank == 0);
    if (p->rank == 0)
        return;
    payload_complement(p->outgoing, p->incoming, bytes);
    send_message(p);
}
