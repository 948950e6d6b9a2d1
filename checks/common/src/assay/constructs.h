/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* Ways to send and receive a message: {Send, Isend, Ssend, Issend} × {Recv, Irecv}. */

struct construct {
    const char *name;
    /* Send, or start to send: then send_waits is 1 and the caller waits for the request. */
    void (*send)(void *message, int bytes, int to, int tag, MPI_Comm comm, MPI_Request *request);
    int send_waits;
    int receive_posted; /* 1: MPI_Irecv, posted before sending; 0: MPI_Recv */
};

#define CONSTRUCTS 8
extern const struct construct constructs[CONSTRUCTS];

/* The names in the same order, NULL-terminated, for the command line. */
extern const char *const construct_names[CONSTRUCTS + 1];
