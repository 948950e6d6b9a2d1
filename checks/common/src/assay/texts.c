/* SPDX-License-Identifier: Apache-2.0 */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

struct texts texts_gather(const char *own, MPI_Comm comm) {
    struct texts texts = {NULL, NULL};
    int rank, ranks, length = (int)strlen(own) + 1, total = 0, *lengths = NULL;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    if (rank == 0) {
        lengths = calloc((size_t)ranks, sizeof *lengths);
        texts.places = calloc((size_t)ranks, sizeof *texts.places);
        if (!lengths || !texts.places)
            PMPI_Abort(comm, 2);
    }
    PMPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, comm);
    for (int r = 0; rank == 0 && r < ranks; r++) {
        texts.places[r] = total;
        total += lengths[r];
    }
    if (rank == 0 && !(texts.all = malloc((size_t)total)))
        PMPI_Abort(comm, 2);
    PMPI_Gatherv((char *)own, length, MPI_CHAR, texts.all, lengths, texts.places, MPI_CHAR, 0,
                 comm);
    free(lengths);
    return texts;
}

void texts_free(struct texts *texts) {
    free(texts->all);
    free(texts->places);
}
