/* SPDX-License-Identifier: Apache-2.0 */
#include "fail.h"

#include "json.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>

static int mpi_is_up(void) {
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
#if MPI_VERSION >= 2 || defined(LAM_MPI)
    if (begun)
        MPI_Finalized(&ended);
#endif
    return begun && !ended;
}

static void print_error(const char *where, const char *format, va_list values, int rank) {
    char message[1024];
    struct json line;
    vsnprintf(message, sizeof message, format, values);
    json_begin(&line);
    json_string(&line, "assay", "error");
    json_string(&line, "where", where);
    json_string(&line, "message", message);
    json_integer(&line, "rank", rank);
    json_write(&line, stdout);
}

static void leave(void) {
    if (mpi_is_up())
        MPI_Abort(MPI_COMM_WORLD, FAIL_STATUS);
    exit(FAIL_STATUS);
}

void fail_if(int condition, const char *where, const char *format, ...) {
    if (!condition)
        return;
    int rank = 0;
    if (mpi_is_up())
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    va_list values;
    va_start(values, format);
    print_error(where, format, values, rank);
    va_end(values);
    leave();
}

void fail_all(int condition, const char *where, const char *format, ...) {
    if (!condition)
        return;
    int rank = 0, up = mpi_is_up();
    if (up)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        va_list values;
        va_start(values, format);
        print_error(where, format, values, rank);
        va_end(values);
    }
    if (up)
        MPI_Barrier(MPI_COMM_WORLD); /* nobody ends the others before rank 0 has printed */
    leave();
}
