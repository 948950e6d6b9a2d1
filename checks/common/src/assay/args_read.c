/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"
#include "fail.h"

#include <mpi.h>
#include <stdlib.h>

void args_read(const char *program, const char *purpose, const struct arg *table, size_t count,
               int argc, char **argv) {
    char message[1024];
    int rank;
    enum args_result result = args_parse(table, count, argc, argv, message, sizeof message);
    fail_all(result == ARGS_WRONG, program, "%s", message);
    if (result == ARGS_OK)
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        args_help(program, purpose, table, count);
    MPI_Finalize();
    exit(0);
}
