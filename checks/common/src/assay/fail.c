/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "fail.h"

#include "fail_line.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

static int mpi_is_up(void) {
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
#if MPI_VERSION >= 2 || defined(LAM_MPI)
    if (begun)
        MPI_Finalized(&ended);
#endif
    return begun && !ended;
}

/* A launcher that sees an abort may drop what it has not yet forwarded: MPICH's does now and then.
 */
static const struct timespec forwarding = {0, 100000000};

static void print_error(const char *where, const char *format, va_list values, int rank,
                        int wrong) {
    fail_line(where, format, values, rank, wrong);
    nanosleep(&forwarding, NULL);
}

/* LAM's mpirun calls a run of one rank that aborts a success (status 0), but not one that exits
 * before MPI_Finalize. */
static void leave(void) {
    int ranks = 1;
    if (mpi_is_up())
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef LAM_MPI
    if (ranks == 1)
        exit(FAIL_STATUS);
#endif
    if (mpi_is_up())
        MPI_Abort(MPI_COMM_WORLD, FAIL_STATUS);
    exit(FAIL_STATUS);
}

static int own_rank(void) {
    int rank = 0;
    if (mpi_is_up())
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

void fail_if(int condition, const char *where, const char *format, ...) {
    if (!condition)
        return;
    va_list values;
    va_start(values, format);
    print_error(where, format, values, own_rank(), 0);
    va_end(values);
    leave();
}

void fail_answer(int condition, const char *where, const char *format, ...) {
    if (!condition)
        return;
    va_list values;
    va_start(values, format);
    print_error(where, format, values, own_rank(), 1);
    va_end(values);
    leave();
}

void fail_all(int condition, const char *where, const char *format, ...) {
    if (!condition)
        return;
    int rank = own_rank(), up = mpi_is_up();
    if (rank == 0) {
        va_list values;
        va_start(values, format);
        print_error(where, format, values, rank, 0);
        va_end(values);
    }
    if (up)
        MPI_Barrier(MPI_COMM_WORLD); /* nobody ends the others before rank 0 has printed */
    leave();
}
