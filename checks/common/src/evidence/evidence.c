/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* clock_gettime, environ, RTLD_DEFAULT */
#include "evidence.h"

#include "assay/json.h"
#include "assay/library.h"
#include "probe.h"
#include "rank_facts.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
#define PROBE_DEFAULT 262144L
#define PROBE_MOST (64L << 20)
#define SETTLE_S 0.005

VISIBLE double assay_first_instruction_s;
VISIBLE double assay_finalise_s;

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* 101 is the first priority that is not the compiler's own. */
__attribute__((constructor(101))) static void note_start(void) {
    assay_first_instruction_s = seconds(CLOCK_REALTIME);
}

/* A value that is not a number of the allowed range counts as the default: a foreign program must
 * not die of our setting. */
static long probe_bytes(void) {
    const char *text = getenv("ASSAY_PROBE_BYTES");
    char *end;
    long bytes = text ? strtol(text, &end, 10) : PROBE_DEFAULT;
    if (text && (end == text || *end || bytes < 0 || bytes > PROBE_MOST))
        return PROBE_DEFAULT;
    return bytes;
}

/* Gather the texts of all ranks on rank 0, separated by commas. NULL elsewhere, or if memory is
 * out. Collective. */
static char *gather_texts(const char *text, MPI_Comm comm) {
    int rank, ranks, length = (int)strlen(text) + 1, total = 0;
    int *lengths = NULL, *places = NULL;
    char *all = NULL;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    if (rank == 0) {
        lengths = calloc((size_t)ranks, sizeof *lengths);
        places = calloc((size_t)ranks, sizeof *places);
        if (!lengths || !places)
            PMPI_Abort(comm, 2);
    }
    PMPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, comm);
    for (int r = 0; rank == 0 && r < ranks; r++) {
        places[r] = total;
        total += lengths[r];
    }
    if (rank == 0 && !(all = malloc((size_t)total)))
        PMPI_Abort(comm, 2);
    PMPI_Gatherv((char *)text, length, MPI_CHAR, all, lengths, places, MPI_CHAR, 0, comm);
    for (int r = 1; rank == 0 && r < ranks; r++)
        all[places[r] - 1] = ',';
    free(lengths);
    free(places);
    return all;
}

static void add_library(struct json *line) {
    char text[LIBRARY_TEXT];
    library_version(text, sizeof text);
    json_string(line, "library", text);
    library_file(text, sizeof text);
    json_string(line, "library_file", text);
    library_standard(text, sizeof text);
    json_string(line, "standard", text);
}

/* Variables of rank 0 that change a library's settings. */
static void add_variables(struct json *line) {
    static const char *const prefixes[] = {"LAM_MPI_SSI_rpi", "MPIR_CVAR_", "OMPI_MCA_btl",
                                           "OMPI_MCA_pml", "UCX_"};
    json_open(line, "variables", '{');
    for (char **variable = environ; *variable; variable++) {
        char name[256];
        size_t length = strcspn(*variable, "="), known = 0;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            known |= strncmp(*variable, prefixes[i], strlen(prefixes[i])) == 0;
        if (!known || length >= sizeof name || !(*variable)[length])
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *variable);
        json_string(line, name, *variable + length + 1);
    }
    json_close(line, '}');
}

static void add_ranks(struct json *line, int rank, MPI_Comm comm) {
    char *own = rank_facts(rank, assay_first_instruction_s);
    char *all = gather_texts(own ? own : "{}", comm);
    if (rank == 0) {
        json_open(line, "ranks", '[');
        json_raw(line, NULL, all);
        json_close(line, ']');
    }
    free(own);
    free(all);
}

/* Let every rank answer what its peers still ask of the transport before any of them shuts it down:
 * what daemon/ucx_disconnect.c asks for. Collective. */
static void settle(MPI_Comm comm) {
    double end = seconds(CLOCK_MONOTONIC) + SETTLE_S;
    int flag;
    MPI_Status status;
    PMPI_Barrier(comm);
    while (seconds(CLOCK_MONOTONIC) < end)
        PMPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &flag, &status);
    PMPI_Barrier(comm);
}

static void print_evidence(void) {
    MPI_Comm comm;
    struct json line;
    int rank;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Comm_rank(comm, &rank);
    json_begin(&line);
    if (rank == 0) {
        json_string(&line, "assay", "evidence");
        add_library(&line);
        add_variables(&line);
    }
    add_ranks(&line, rank, comm);
    probe_run(comm, probe_bytes(), &line);
    if (rank == 0)
        json_write(&line, stdout);
    else
        free(line.text);
    settle(comm);
    PMPI_Comm_free(&comm);
}

VISIBLE int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }

#if MPI_VERSION >= 2 || defined(LAM_MPI)
VISIBLE int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    return PMPI_Init_thread(argc, argv, required, provided);
}
#endif

/* Of the MPI profile, if it is linked in (weak) or preloaded (looked up): it must report while
 * messages still pass. */
VISIBLE __attribute__((weak)) void assay_profile_finish(void);

static void finish_profile(void) {
    void (*finish)(void) = assay_profile_finish;
    void *found = finish ? NULL : dlsym(RTLD_DEFAULT, "assay_profile_finish");
    if (found)
        memcpy(&finish, &found, sizeof finish);
    if (finish)
        finish();
}

VISIBLE int MPI_Finalize(void) {
    finish_profile();
    print_evidence();
    double start = seconds(CLOCK_MONOTONIC);
    int result = PMPI_Finalize();
    assay_finalise_s = seconds(CLOCK_MONOTONIC) - start;
    return result;
}
