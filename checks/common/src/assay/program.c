/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include "report.h"

struct world world;

int program_main(const struct program *program, void *run, int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    args_read(program->name, program->purpose, program->options, program->option_count, argc, argv);
    world.timer = timing_choose();
    program->prepare(run);
    if (world.rank == 0)
        report_program(program->name, program->options, program->option_count);
    program->measure(run);
    if (world.rank == 0) {
        if (program->report)
            program->report(run);
        report_timer(&world.timer);
        report_end(program->name, 1);
    }
    MPI_Finalize();
    return 0;
}

MPI_Comm program_ends(int *rank) {
    MPI_Comm ends;
    int is_end = world.rank == 0 || world.rank == world.ranks - 1;
    MPI_Comm_split(MPI_COMM_WORLD, is_end ? 0 : MPI_UNDEFINED, world.rank, &ends);
    if (is_end)
        MPI_Comm_rank(ends, rank);
    return ends;
}
