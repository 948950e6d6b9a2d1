/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_CONSTRUCTS_H
#define ASSAY_CONSTRUCTS_H

#include <mpi.h>

/* The ways to send and to receive a message, {Send, Isend, Ssend, Issend} × {Recv, Irecv}, as a
 * table: one entry a construct. */

struct construct {
    const char *name;
    /* Start sending, or send; if send_waits the request is to be waited for. */
    void (*send)(void *message, int bytes, int to, int tag, MPI_Comm comm, MPI_Request *request);
    int send_waits;
    int receive_posted; /* 1: MPI_Irecv, posted before the own message goes; 0: MPI_Recv */
};

#define CONSTRUCTS 8
extern const struct construct constructs[CONSTRUCTS];

/* The names in the same order, NULL-ended, for the command line. */
extern const char *const construct_names[CONSTRUCTS + 1];

#endif
