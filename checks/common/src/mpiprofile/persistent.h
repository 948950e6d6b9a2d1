/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* Persistent requests with the peer and length of their messages. Local; not thread-safe. */
void persistent_add(MPI_Request request, int peer, long long bytes);
void persistent_remove(MPI_Request request);

/* 1 if the request is known. */
int persistent_find(MPI_Request request, int *peer, long long *bytes);
