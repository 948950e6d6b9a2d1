/* SPDX-License-Identifier: Apache-2.0 */
#include "constructs.h"

#include <stddef.h>

static void send(void *message, int bytes, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    (void)request;
    MPI_Send(message, bytes, MPI_BYTE, to, tag, comm);
}

static void isend(void *message, int bytes, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    MPI_Isend(message, bytes, MPI_BYTE, to, tag, comm, request);
}

static void ssend(void *message, int bytes, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    (void)request;
    MPI_Ssend(message, bytes, MPI_BYTE, to, tag, comm);
}

static void issend(void *message, int bytes, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    MPI_Issend(message, bytes, MPI_BYTE, to, tag, comm, request);
}

const struct construct constructs[CONSTRUCTS] = {
    {"Send/Recv", send, 0, 0},     {"Isend/Recv", isend, 1, 0},    {"Ssend/Recv", ssend, 0, 0},
    {"Issend/Recv", issend, 1, 0}, {"Send/Irecv", send, 0, 1},     {"Isend/Irecv", isend, 1, 1},
    {"Ssend/Irecv", ssend, 0, 1},  {"Issend/Irecv", issend, 1, 1},
};

const char *const construct_names[CONSTRUCTS + 1] = {
    "Send/Recv",   "Isend/Recv",  "Ssend/Recv",   "Issend/Recv", "Send/Irecv",
    "Isend/Irecv", "Ssend/Irecv", "Issend/Irecv", NULL,
};
