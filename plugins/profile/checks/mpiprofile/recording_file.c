/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "recording.h"

#include "assay/clock.h"
#include "assay/hosts.h"
#include "assay/json.h"
#include "assay/library.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;
static char library[LIBRARY_TEXT];
static long long clock_ns[6];
static int *first_ranks;
static double next_write_s;
static pid_t own_process; /* a child that the program forks must not write */

static void add_samples(struct json *line, const struct samples *samples) {
    for (int i = 0; i < samples->count; i++) {
        const struct sample *one = &samples->kept[i];
        const double times[] = {one->ready, one->from, one->to, one->time, one->blocked};
        json_open(line, NULL, '[');
        json_integer(line, NULL, (long long)one->hash);
        json_integer(line, NULL, one->role);
        json_integer(line, NULL, one->key.ranks);
        json_integer(line, NULL, histogram_index(one->key));
        for (size_t time = 0; time < sizeof times / sizeof *times; time++)
            json_integer(line, NULL, (long long)(1e9 * times[time]));
        json_close(line, ']');
    }
}

static void add_entries(struct json *line) {
    json_open(line, "entries", '[');
    for (int i = 0; i < histogram_count(); i++) {
        const struct histogram_entry *one = histogram_at(i);
        json_open(line, NULL, '[');
        json_string(line, NULL, profile_names[one->key.call]);
        json_integer(line, NULL, one->least);
        json_integer(line, NULL, one->greatest);
        json_integer(line, NULL, one->bytes);
        json_integer(line, NULL, one->key.ranks);
        json_integer(line, NULL, one->key.nodes);
        json_integer(line, NULL, one->count);
        json_number(line, NULL, one->time_s);
        json_number(line, NULL, one->completing_s);
        json_number(line, NULL, one->outside_s);
        json_close(line, ']');
    }
    json_close(line, ']');
}

/* A file of the name is replaced as a whole; what fails leaves none or the earlier one. */
static void write_text(struct json *line) {
    char path[4096], part[4096 + 8];
    int length = snprintf(path, sizeof path, "%s/rank.%06d.%ld.json", folder, recording_rank,
                          (long)own_process);
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = length < (int)sizeof path ? fopen(part, "w") : NULL;
    if (!file) {
        free(line->text);
        return;
    }
    int failed = json_write(line, file);
    failed |= fclose(file);
    if (failed || rename(part, path) != 0)
        unlink(part);
}

void recording_write(int complete) {
    struct json line;
    json_begin_line(&line, "recording");
    json_integer(&line, "rank", recording_rank);
    json_integer(&line, "ranks", recording_ranks);
    json_integer(&line, "node", recording_node ? recording_node[recording_rank] : 0);
    json_integer(&line, "nodes", recording_nodes);
    json_string(&line, "library", library);
    json_boolean(&line, "complete", complete);
    json_boolean(&line, "unordered", recording_unordered);
    json_number(&line, "elapsed_s", timing_monotonic() - recording_begun_s);
    json_number(&line, "mpi_s", recording_mpi_s);
    json_integer(&line, "level", histogram_level);
    json_open(&line, "clock", '[');
    for (int i = 0; i < (complete ? 6 : 3); i++)
        json_integer(&line, NULL, clock_ns[i]);
    json_close(&line, ']');
    add_entries(&line);
    json_open(&line, "samples", '[');
    add_samples(&line, &sampled_messages);
    add_samples(&line, &sampled_collectives);
    json_close(&line, ']');
    write_text(&line);
}

/* At exit without MPI_Finalize. */
static void write_at_exit(void) {
    if (recording && getpid() == own_process)
        recording_write(0);
}

void recording_now_and_then(double now_s) {
    if (now_s < next_write_s)
        return;
    double elapsed_s = now_s - recording_begun_s;
    next_write_s = now_s + (elapsed_s < 60 ? elapsed_s : 60);
    recording_write(0);
}

VISIBLE void assay_profile_start(void) {
    struct hosts hosts;
    char name[HOST_BYTES];
    MPI_Comm comm;
    folder = getenv("ASSAY_PROFILE_FOLDER");
    if (recording || !folder || !*folder)
        return;
    profile_begin();                     /* what follows is not the program's */
#if MPI_VERSION >= 2 && !defined(SMPI_H) /* SimGrid spawns no programs */
    PMPI_Comm_get_parent(&comm);
    if ((recording_spawned = comm != MPI_COMM_NULL))
        return;
#endif
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Comm_rank(comm, &recording_rank);
    PMPI_Comm_size(comm, &recording_ranks);
    host_name(name);
    hosts_find(&hosts, name, comm);
    recording_nodes = hosts.count;
    recording_node = malloc((size_t)hosts.ranks * sizeof *recording_node);
    first_ranks = malloc((size_t)hosts.count * sizeof *first_ranks);
    if (!recording_node || !first_ranks)
        PMPI_Abort(comm, 2); /* the others wait */
    memcpy(recording_node, hosts.node, (size_t)hosts.ranks * sizeof *recording_node);
    memcpy(first_ranks, hosts.first, (size_t)hosts.count * sizeof *first_ranks);
    hosts_free(&hosts);
    library_name(library, sizeof library);
#if MPI_VERSION >= 2
    int level;
    PMPI_Query_thread(&level);
    recording_unordered = level == MPI_THREAD_MULTIPLE;
#endif
    clocks_compare(comm, first_ranks, recording_nodes, clock_ns);
    PMPI_Barrier(comm);
    PMPI_Comm_free(&comm);
    own_process = getpid();
    atexit(write_at_exit);
    recording_begun_s = timing_monotonic();
    next_write_s = recording_begun_s + 1;
    recording = 1;
    profile_leave();
}

void recording_finish(void) {
    MPI_Comm comm;
    double ended_s = timing_monotonic();
    recording = 0;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    clocks_compare(comm, first_ranks, recording_nodes, clock_ns + 3);
    PMPI_Comm_free(&comm);
    recording_begun_s += timing_monotonic() - ended_s; /* it is not the program's time */
    recording_write(1);
}
