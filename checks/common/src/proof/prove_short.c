/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages does the library send eagerly? A non-blocking send that completes although no
 * receive is posted was eager; one that does not used rendezvous. Meanwhile empty messages go back
 * and forth, so that both ranks progress the library and an eager message, which goes before them
 * on the same connection, has left. One note `sent_at_once_BYTES` (1 or 0) a size. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/library.h"
#include "assay/report.h"
#include "assay/sizes.h"

#include <mpi.h>
#include <string.h>

#define PROGRAM "prove_short"
#define TAG 1
#define BESIDE_TAG 2
/* One would do on one connection; several let a library send in parts. */
#define ROUND_TRIPS 100

static struct {
    const char *sizes;
} settings = {"1024,1048576"};

static const struct arg options[] = {ARG_SIZES(&settings.sizes)};
#define OPTIONS (sizeof options / sizeof *options)

static void ask(char *message, int bytes) {
    MPI_Request request;
    MPI_Status status;
    char key[64];
    int done = 0;
    MPI_Isend(message, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    for (int trip = 0; trip < ROUND_TRIPS; trip++) {
        if (!done) /* not after the last trip: then rank 1 posts its receive */
            MPI_Test(&request, &done, &status);
        MPI_Send(NULL, 0, MPI_BYTE, 1, BESIDE_TAG, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, BESIDE_TAG, MPI_COMM_WORLD, &status);
    }
    if (!done)
        MPI_Wait(&request, &status);
    snprintf(key, sizeof key, "sent_at_once_%d", bytes);
    report_note_integer(key, done);
}

static void serve(char *message, int bytes) {
    MPI_Status status;
    for (int trip = 0; trip < ROUND_TRIPS; trip++) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, BESIDE_TAG, MPI_COMM_WORLD, &status);
        MPI_Send(NULL, 0, MPI_BYTE, 0, BESIDE_TAG, MPI_COMM_WORLD);
    }
    MPI_Recv(message, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
}

int main(int argc, char **argv) {
    struct sizes sizes;
    char library[LIBRARY_TEXT];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    args_read(PROGRAM, "which messages are sent eagerly", options, OPTIONS, argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fail_all(ranks != 2, PROGRAM, "found %d ranks, allowed are exactly 2", ranks);
    sizes_read(&sizes, settings.sizes, PROGRAM);
    char *buffer = buffer_make((size_t)sizes.bytes[sizes.count - 1], 1);
    for (size_t i = 0; i < sizes.count; i++)
        (rank == 0 ? ask : serve)(buffer, (int)sizes.bytes[i]);
    if (rank == 0) {
        library_name(library, sizeof library);
        report_note_text("library", library);
        report_end(PROGRAM, 1);
    }
    MPI_Finalize();
    return 0;
}
