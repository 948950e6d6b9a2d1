/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "wrap.h"

#include "assay/json.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 71 };

static void add_entry(struct json *line, enum profile_call call, int peer,
                      const struct profile_entry *entry) {
    long long limit = 0;
    json_open(line, NULL, '{');
    json_string(line, "call", profile_names[call]);
    if (peer == PROFILE_NO_PEER)
        json_raw(line, "peer", "null");
    else
        json_integer(line, "peer", peer);
    json_integer(line, "count", entry->count);
    json_integer(line, "bytes", entry->bytes);
    json_number(line, "time_s", entry->time_s);
    json_number(line, "greatest_s", entry->greatest_s);
    json_open(line, "sizes", '{');
    for (int class = 0; class < PROFILE_SIZES; class ++) {
        char key[24];
        snprintf(key, sizeof key, "%lld", limit);
        if (entry->sizes[class])
            json_integer(line, key, entry->sizes[class]);
        limit = limit ? 2 * limit : 1;
    }
    json_close(line, '}');
    json_close(line, '}');
}

/* The sum of all entries' times, s; the entries are added to line unless it is NULL. */
static double add_entries(struct json *line, int ranks) {
    double mpi_s = 0;
    for (int call = 0; call < PROFILE_CALL_COUNT; call++)
        for (int peer = PROFILE_NO_PEER; peer < ranks; peer++) {
            const struct profile_entry *entry = profile_entry((enum profile_call)call, peer);
            if (!entry)
                continue;
            mpi_s += entry->time_s;
            if (line)
                add_entry(line, (enum profile_call)call, peer, entry);
        }
    return mpi_s;
}

/* After a newline: the program's own text may lack its last one. */
static void print_text(const char *text) {
    if (text)
        fprintf(stdout, "\n%s\n", text);
    fflush(stdout);
}

VISIBLE void assay_profile_finish(void) {
    static int done;
    MPI_Comm comm;
    struct json line;
    int rank, ranks;
    if (done++)
        return;
    profile_begin(); /* never ended: calls from here on are not the program's */
    if (recording_spawned)
        return;
    if (recording) {
        recording_finish();
        return;
    }
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    json_begin_line(&line, "profile");
    json_integer(&line, "rank", rank);
    json_integer(&line, "ranks", ranks);
    json_number(&line, "elapsed_s", profile_elapsed());
    json_number(&line, "mpi_s", add_entries(NULL, ranks));
    json_open(&line, "calls", '[');
    add_entries(&line, ranks);
    json_close(&line, ']');
    char *text = json_take(&line); /* NULL if out of memory: sent as an empty text */
    int length = text ? (int)strlen(text) : 0;
    if (rank != 0) {
        PMPI_Send(&length, 1, MPI_INT, 0, TAG, comm);
        PMPI_Send((void *)(text ? text : ""), length, MPI_CHAR, 0, TAG, comm);
    } else
        print_text(text);
    for (int other = 1; rank == 0 && other < ranks; other++) {
        MPI_Status status;
        free(text);
        PMPI_Recv(&length, 1, MPI_INT, other, TAG, comm, &status);
        text = malloc((size_t)length + 1);
        if (!text)
            PMPI_Abort(comm, 2); /* the sender waits */
        PMPI_Recv(text, length, MPI_CHAR, other, TAG, comm, &status);
        text[length] = '\0';
        print_text(text);
    }
    free(text);
    PMPI_Comm_free(&comm);
}

/* Weak, so that another MPI_Finalize of the same program replaces it. One that comes later in the
 * order of loaded libraries is called. */
#define LATER(name, parameters)                                                                    \
    int(*next) parameters = NULL;                                                                  \
    void *found = dlsym(RTLD_NEXT, "MPI_" #name);                                                  \
    if (found)                                                                                     \
        memcpy(&next, &found, sizeof next);                                                        \
    else                                                                                           \
        next = NEXT(name);

WRAP_FORTRAN(Finalize, (void), ())
VISIBLE __attribute__((weak)) int MPI_Finalize(void) {
    LATER(Finalize, (void))
    assay_profile_finish();
    return next();
}

WRAP_FORTRAN(Init, (int *argc, char ***argv), (argc, argv))
VISIBLE __attribute__((weak)) int MPI_Init(int *argc, char ***argv) {
    LATER(Init, (int *, char ***))
    profile_begin();
    int result = next(argc, argv);
    profile_leave();
    assay_profile_start();
    return result;
}

#if MPI_VERSION >= 2 || defined(LAM_MPI)
WRAP_FORTRAN(Init_thread, (int *argc, char ***argv, int required, int *provided),
             (argc, argv, required, provided))
VISIBLE __attribute__((weak)) int MPI_Init_thread(int *argc, char ***argv, int required,
                                                  int *provided) {
    LATER(Init_thread, (int *, char ***, int, int *))
    profile_begin();
    int result = next(argc, argv, required, provided);
    profile_leave();
    assay_profile_start();
    return result;
}
#endif

WRAP_FORTRAN(Abort, (MPI_Comm comm, int status), (comm, status))
VISIBLE int MPI_Abort(MPI_Comm comm, int status) {
    if (recording)
        recording_write(0);
    return NEXT(Abort)(comm, status);
}
