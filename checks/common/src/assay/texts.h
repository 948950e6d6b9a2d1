/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* A text of every rank on rank 0; NULL elsewhere. */
struct texts {
    char *all;   /* one after the other by rank, each with its NUL */
    int *places; /* where each begins */
};

/* Gather them. Collective over comm; only PMPI calls, so that no profile counts them. Out of memory
 * ends the run. */
struct texts texts_gather(const char *own, MPI_Comm comm);

/* Local. */
void texts_free(struct texts *texts);
