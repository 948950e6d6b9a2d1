/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include "report.h"

#include <mpi.h>

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
    program->release(run);
    MPI_Finalize();
    return 0;
}
