/* SPDX-License-Identifier: Apache-2.0 */
/* The program: reads the input, runs its blocks, prints what the original prints. */
#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/json.h"
#include "assay/library.h"
#include "assay/report.h"
#include "gauge_file.h"
#include "random.h"
#include "results.h"
#include "settings.h"

#include <errno.h>
#include <string.h>

enum { MESSAGE = 512 };

static void trajectory(struct simulation *simulation, const struct physics *physics,
                       struct results *results) {
    int failed = simulation_trajectory(simulation, physics);
    results->trajectories++;
    fail_all(
        failed, "trajectory",
        "links deviate from unitarity by %g before reunitarising in trajectory %ld of the run, "
        "allowed is %g; a smaller microcanonical_time_step may help",
        simulation->deviation, results->trajectories, SIMULATION_DEVIATION);
}

/* Warm-ups and trajectories, whose time is printed. */
static void run_trajectories(struct simulation *simulation, const struct block *block,
                             struct results *results) {
    struct measurement measurement;
    double start = timing_monotonic();
    for (long left = block->warms; left > 0; left--)
        trajectory(simulation, &block->physics, results);
    double warm = timing_monotonic();
    results_warm(results);
    for (long left = block->trajecs; left > 0; left--) {
        trajectory(simulation, &block->physics, results);
        if (left % block->between != 0)
            continue;
        simulation_measure(simulation, &measurement);
        results_measurement(results, &measurement);
    }
    MPI_Barrier(simulation->comm);
    double seconds = timing_monotonic() - start;
    results->warm_s += warm - start;
    results->program_s += seconds;
    results_block_end(results, seconds);
}

static void run_block(struct simulation *simulation, const struct block *block, long iseed,
                      struct results *results) {
    const struct lattice *lattice = &simulation->lattice;
    struct measurement check;
    char message[MESSAGE];
    results->block++;
    results_block(results, block);
    if (block->save)
        fail_all(gauge_can_save(lattice, block->to, simulation->comm, message, sizeof message) != 0,
                 "start", "%s", message);
    if (block->start != START_CONTINUE)
        random_seed(lattice, &simulation->fields, iseed);
    if (block->start == START_FRESH)
        fields_cold(lattice, &simulation->fields);
    else if (block->start == START_WARM)
        random_warm(lattice, &simulation->fields);
    else if (block->start == START_RELOAD)
        fail_all(gauge_load(lattice, &simulation->fields, block->from, simulation->comm, message,
                            sizeof message) != 0,
                 "start", "%s", message);
    struct simulation untimed = *simulation;
    simulation_measure(simulation, &check);
    simulation->times = untimed.times; /* the check is not counted as work */
    simulation->work = untimed.work;
    simulation->halo.count = untimed.halo.count;
    results_check(results, &check);
    run_trajectories(simulation, block, results);
    if (block->save)
        fail_all(gauge_save(lattice, &simulation->fields, block->to, simulation->comm, message,
                            sizeof message) != 0,
                 "end", "%s", message);
}

static void open_json(struct results *results, const struct settings *settings,
                      const char *library) {
    struct json line;
    int failed = 0;
    if (results->rank == 0 && settings->json) {
        int to_stdout = strcmp(settings->json, "-") == 0;
        results->json = to_stdout ? stdout : fopen(settings->json, "w");
        failed = !results->json;
    }
    fail_if(failed, "su3_rmd", "option --json: cannot write '%s': %s", settings->json,
            strerror(errno));
    if (!results->json)
        return;
    report_to(results->json);
    json_begin_line(&line, "program");
    json_string(&line, "name", "su3_rmd");
    json_string(&line, "mpi", library);
    json_string(&line, "precision", REAL_NAME);
    args_echo(&line, settings->table, settings->count);
    json_write(&line, results->json);
}

int main(int argc, char **argv) {
    struct results results = {0};
    struct settings settings;
    struct simulation simulation;
    struct lattice lattice = {0};
    struct input input;
    struct block block;
    char library[LIBRARY_TEXT];
    long iseed;
    int found;
    results.begun_s = timing_monotonic();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &lattice.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &lattice.ranks);
    results.rank = lattice.rank;
    settings_read(&settings, argc, argv);
    fail_all(input_open(&input, settings.input, MPI_COMM_WORLD) != 0, "input", "%s",
             input.message[0] ? input.message : "the input cannot be read or kept in memory");
    fail_all(input_header(&input, lattice.size, &iseed) != 0, "input", "%s", input.message);
    struct input ahead = input; /* validate all blocks before running the first */
    while ((found = input_block(&ahead, &block)) > 0)
        continue;
    fail_all(found < 0, "input", "%s", ahead.message);
    settings_lattice(&settings, &lattice, MPI_COMM_WORLD);
    fail_all(simulation_make(&simulation, &lattice, settings.kernels, settings.mode,
                             settings.overlap, MPI_COMM_WORLD) != 0,
             "su3_rmd", "no memory for the lattice on some rank");
    library_name(library, sizeof library);
    open_json(&results, &settings, library);
    results_header(&results, library, &simulation, iseed);
    while (input_block(&input, &block) > 0)
        run_block(&simulation, &block, iseed, &results);
    if (results.rank == 0)
        printf("end of the input\n");
    results_finish(&results, &simulation);
    fail_if(results.json && results.json != stdout && fclose(results.json) != 0, "su3_rmd",
            "option --json: %s", strerror(errno));
    simulation_free(&simulation);
    input_close(&input);
    MPI_Finalize();
    return 0;
}
