/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages does the library send eagerly? A non-blocking send that completes although no
 * receive is posted was eager; one that does not used rendezvous. Meanwhile rank 1 progresses the
 * library but posts no receive. One note `sent_at_once_BYTES` (1 or 0) a size. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/library.h"
#include "assay/report.h"
#include "assay/sizes.h"
#include "assay/timing.h"

#include <mpi.h>
#include <string.h>

#define PROGRAM "prove_short"
#define TAG 1
#define GO_TAG 2

static struct {
    const char *sizes;
    double patience_s;
} settings = {"1024,1048576", 0.5};

static const struct arg options[] = {
    ARG_SIZES(&settings.sizes),
    {"patience", ARG_REAL, &settings.patience_s, 0.01, 60, NULL,
     "seconds until a send counts as rendezvous (default 0.5)"},
};
#define OPTIONS (sizeof options / sizeof *options)

static void ask(char *message, int bytes) {
    MPI_Request request;
    MPI_Status status;
    char key[64];
    int done = 0;
    MPI_Isend(message, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    for (double end = timing_monotonic() + settings.patience_s; !done && timing_monotonic() < end;)
        MPI_Test(&request, &done, &status);
    MPI_Send(NULL, 0, MPI_BYTE, 1, GO_TAG, MPI_COMM_WORLD);
    if (!done)
        MPI_Wait(&request, &status);
    snprintf(key, sizeof key, "sent_at_once_%d", bytes);
    report_note_integer(key, done);
}

static void serve(char *message, int bytes) {
    MPI_Status status;
    for (int go = 0; !go;)
        MPI_Iprobe(0, GO_TAG, MPI_COMM_WORLD, &go, &status);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, GO_TAG, MPI_COMM_WORLD, &status);
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
