/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* environ, RTLD_DEFAULT */
#include "evidence.h"

#include "assay/clock.h"
#include "assay/json.h"
#include "assay/library.h"
#include "assay/texts.h"
#include "probe.h"
#include "rank_facts.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
#define PROBE_DEFAULT 262144L
#define PROBE_MOST (64L << 20)
#define SETTLE_S 0.005

VISIBLE double assay_first_instruction_s;
VISIBLE double assay_finalise_s;

/* 101: the first priority that is not reserved for the compiler. */
__attribute__((constructor(101))) static void note_start(void) {
    assay_first_instruction_s = timing_realtime();
}

/* An invalid value counts as the default: our setting must not end a foreign program. */
static long probe_bytes(void) {
    const char *text = getenv("ASSAY_PROBE_BYTES");
    char *end;
    long bytes = text ? strtol(text, &end, 10) : PROBE_DEFAULT;
    if (text && (end == text || *end || bytes < 0 || bytes > PROBE_MOST))
        return PROBE_DEFAULT;
    return bytes;
}

/* The texts of all ranks, comma-separated, on rank 0; NULL elsewhere. The caller frees it.
 * Collective over comm. */
static char *join_texts(const char *text, MPI_Comm comm) {
    struct texts texts = texts_gather(text, comm);
    int ranks;
    char *all = texts.all;
    PMPI_Comm_size(comm, &ranks);
    for (int r = 1; all && r < ranks; r++)
        all[texts.places[r] - 1] = ',';
    free(texts.places);
    return all;
}

/* Progress the transport on every rank until its peers have completed their messages, before any of
 * them shuts it down: the precondition of daemon/ucx_disconnect.c. Collective over comm. */
static void settle(MPI_Comm comm) {
    double end = timing_monotonic() + SETTLE_S;
    int flag;
    MPI_Status status;
    PMPI_Barrier(comm);
    while (timing_monotonic() < end)
        PMPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &flag, &status);
    PMPI_Barrier(comm);
}

/* Collective over MPI_COMM_WORLD. */
static void print_evidence(void) {
    /* Variables of rank 0 that change a library's settings. */
    static const char *const prefixes[] = {"LAM_MPI_SSI_rpi", "MPIR_CVAR_",   "OMPI_MCA_btl",
                                           "OMPI_MCA_coll",   "OMPI_MCA_pml", "UCX_"};
    char text[LIBRARY_TEXT];
    MPI_Comm comm;
    struct json line;
    int rank;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Comm_rank(comm, &rank);
    char *own = rank_facts(rank, assay_first_instruction_s);
    char *all = join_texts(own ? own : "{}", comm);
    json_begin_line(&line, "evidence");
    if (rank == 0) {
        library_version(text, sizeof text);
        json_string(&line, "library", text);
        library_file(text, sizeof text);
        json_string(&line, "library_file", text);
        library_standard(text, sizeof text);
        json_string(&line, "standard", text);
        library_device(text, sizeof text);
        json_string(&line, "device", text);
        json_open(&line, "variables", '{');
        for (char **variable = environ; *variable; variable++) {
            size_t length = strcspn(*variable, "="), known = 0;
            for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
                known |= strncmp(*variable, prefixes[i], strlen(prefixes[i])) == 0;
            if (!known || length >= sizeof text || !(*variable)[length])
                continue;
            snprintf(text, sizeof text, "%.*s", (int)length, *variable);
            json_string(&line, text, *variable + length + 1);
        }
        json_close(&line, '}');
        json_open(&line, "ranks", '[');
        json_raw(&line, NULL, all);
        json_close(&line, ']');
    }
    probe_run(comm, probe_bytes(), &line);
    if (rank == 0) {
        /* A foreign test's output stays as it is: evidence.sh names a file. */
        const char *path = getenv("ASSAY_EVIDENCE_FILE");
        FILE *file = path ? fopen(path, "a") : NULL;
        FILE *out = file ? file : stdout;
        fputc('\n', out); /* the program's own text may lack its last newline */
        json_write(&line, out);
        if (file)
            fclose(file);
    } else {
        free(line.text);
    }
    free(own);
    free(all);
    settle(comm);
    PMPI_Comm_free(&comm);
}

/* Of the MPI profile, if linked in (weak) or preloaded (looked up). It must report while messages
 * can still be sent. */
VISIBLE __attribute__((weak)) void assay_profile_start(void);
VISIBLE __attribute__((weak)) void assay_profile_finish(void);

static void call_profile(void (*linked)(void), const char *name) {
    void *found = linked ? NULL : dlsym(RTLD_DEFAULT, name);
    if (found)
        memcpy(&linked, &found, sizeof linked);
    if (linked)
        linked();
}

VISIBLE int MPI_Init(int *argc, char ***argv) {
    int result = PMPI_Init(argc, argv);
    rank_begins();
    call_profile(assay_profile_start, "assay_profile_start");
    return result;
}

#if MPI_VERSION >= 2 || defined(LAM_MPI)
VISIBLE int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int result = PMPI_Init_thread(argc, argv, required, provided);
    rank_begins();
    call_profile(assay_profile_start, "assay_profile_start");
    return result;
}
#endif

VISIBLE int MPI_Finalize(void) {
    call_profile(assay_profile_finish, "assay_profile_finish");
    print_evidence();
    double start = timing_monotonic();
    int result = PMPI_Finalize();
    assay_finalise_s = timing_monotonic() - start;
    return result;
}
