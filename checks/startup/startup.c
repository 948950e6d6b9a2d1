/* SPDX-License-Identifier: Apache-2.0 */
/* Duration of a launch: from the start of the launcher to the first instruction of rank 0, of
 * MPI_Init, and until rank 0 has received a message from every rank. */
#include "assay/args.h"
#include "assay/fail.h"
#include "assay/host_name.h"
#include "assay/report.h"
#include "assay/timing.h"
#include "evidence/evidence.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "startup"
#define PURPOSE "time from the launcher to all ranks heard; JSON lines on standard output"
#define TAG 2
#define LATEST 1e11 /* seconds since 1970; a time in milliseconds is above it */

static struct {
    double launched_at;
    const char *launch_host;
} settings = {0, NULL};

static const struct arg options[] = {
    {"launched-at", ARG_REAL, &settings.launched_at, 0, LATEST, NULL,
     "CLOCK_REALTIME seconds when the launcher was started, on rank 0's host "
     "(or ASSAY_LAUNCHED_AT; 0 = unknown)"},
    {"launch-host", ARG_TEXT, &settings.launch_host, 0, 0, NULL,
     "host of that clock (or ASSAY_LAUNCH_HOST); must be rank 0's"},
};
#define OPTIONS (sizeof options / sizeof *options)

/* Rank 0: complete the settings from the environment, and refuse a launch time of another host.
 * Host names are compared up to the first dot. */
static void read_launch(void) {
    const char *text = getenv("ASSAY_LAUNCHED_AT");
    char host[HOST_BYTES] = "", *end;
    if (settings.launched_at == 0 && text) {
        settings.launched_at = strtod(text, &end);
        int right = end != text && !*end && isfinite(settings.launched_at) &&
                    settings.launched_at >= 0 && settings.launched_at <= LATEST;
        fail_if(
            !right, PROGRAM,
            "ASSAY_LAUNCHED_AT: found '%s', allowed are seconds since 1970, as in $EPOCHREALTIME",
            text);
    }
    if (!settings.launch_host)
        settings.launch_host = getenv("ASSAY_LAUNCH_HOST");
    if (!settings.launch_host)
        return;
    host_name(host);
    size_t own = strcspn(host, "."), launch = strcspn(settings.launch_host, ".");
    fail_if(own != launch || strncmp(host, settings.launch_host, own) != 0, PROGRAM,
            "rank 0 runs on %s, the launcher on %s: clocks of two hosts must not be subtracted; "
            "start rank 0 on the launcher's host",
            host, settings.launch_host);
}

/* Every other rank sends its number to rank 0, which verifies it. Returns on rank 0 the
 * CLOCK_REALTIME of the last message, s. Collective over all ranks. */
static double hear_all(int rank, int ranks) {
    int number = rank;
    MPI_Status status;
    if (rank != 0)
        MPI_Send(&number, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    for (int heard = 1; rank == 0 && heard < ranks; heard++) {
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
        fail_if(number != status.MPI_SOURCE, __func__, "rank %d sent %d, not its own number",
                status.MPI_SOURCE, number);
    }
    return timing_realtime();
}

int main(int argc, char **argv) {
    double least = 0, total = 0, greatest = 0, start = timing_monotonic();
    int rank, ranks;
    MPI_Init(&argc, &argv);
    double own_init = timing_monotonic() - start;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double heard_at = hear_all(rank, ranks);
    args_read(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    MPI_Reduce(&own_init, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own_init, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own_init, &greatest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        read_launch();
        report_program(PROGRAM, options, OPTIONS);
        report_value("init", "s", greatest, NULL, 0);
        report_note_number("init_least_s", least);
        report_note_number("init_mean_s", total / ranks);
        if (settings.launched_at > 0) {
            double first = assay_first_instruction_s - settings.launched_at;
            fail_if(first < 0, PROGRAM,
                    "the first instruction came %g s before the launch: the time given with "
                    "--launched-at is of another clock",
                    -first);
            report_value("first_instruction", "s", first, NULL, 0);
            report_value("all_heard", "s", heard_at - settings.launched_at, NULL, 0);
        } else {
            report_note_text("launched_at",
                             "not given: first_instruction and all_heard not measured");
        }
        report_note_number("timer_resolution_s", timing_choose().resolution_s);
        report_note_integer("ranks", ranks);
        report_end(PROGRAM, 1);
    }
    MPI_Finalize();
    if (rank == 0) /* known only after MPI_Finalize */
        report_note_number("finalise_s", assay_finalise_s);
    return 0;
}
