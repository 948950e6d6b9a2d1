/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include "report.h"

int program_main(const struct program *program, void *run, int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    args_read(program->name, program->purpose, program->options, program->option_count, argc, argv);
    program->prepare(run);
    if (rank == 0)
        report_program(program->name, program->options, program->option_count);
    program->measure(run);
    if (rank == 0) {
        program->report(run);
        report_end(program->name, 1);
    }
    MPI_Finalize();
    return 0;
}

MPI_Comm program_ends(void) {
    MPI_Comm ends;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int is_end = rank == 0 || rank == ranks - 1;
    MPI_Comm_split(MPI_COMM_WORLD, is_end ? 0 : MPI_UNDEFINED, rank, &ends);
    return ends;
}
