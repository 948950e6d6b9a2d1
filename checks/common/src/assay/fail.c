/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, alarm */
#include "fail.h"

#include "fail_line.h"

#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { READER_PATIENCE_S = 30, FINALISE_PATIENCE_S = 30 };

static int mpi_is_up(void) {
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
#if MPI_VERSION >= 2 || defined(LAM_MPI)
    if (begun)
        MPI_Finalized(&ended);
#endif
    return begun && !ended;
}

/* Bytes of standard output that the launcher has not read yet. Files and terminals keep what is
 * written. Linux answers for either end of a pipe. */
static int unread_bytes(void) {
    struct stat output;
    int bytes = 0;
    if (fstat(STDOUT_FILENO, &output) != 0)
        return 0;
    if (S_ISFIFO(output.st_mode) && ioctl(STDOUT_FILENO, FIONREAD, &bytes) != 0)
        return 0;
    if (S_ISSOCK(output.st_mode) && ioctl(STDOUT_FILENO, TIOCOUTQ, &bytes) != 0)
        return 0;
    return bytes;
}

/* MPICH's mpiexec exits as soon as its proxy forwards an abort; what the proxy has not read by then
 * is lost. What it has read it forwards first, on the same connection. */
static void print_error(const char *where, const char *format, va_list values, int rank,
                        int wrong) {
    static const struct timespec nap = {0, 1000000};
    fail_line(where, format, values, rank, wrong);
    for (int naps = 0; unread_bytes() > 0 && naps < READER_PATIENCE_S * 1000; naps++)
        nanosleep(&nap, NULL);
}

/* LAM's mpirun calls a run of one rank that aborts a success (status 0), but not one that exits
 * before MPI_Finalize. */
static void leave_alone(void) {
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

/* Every rank is here, and rank 0 has printed: no abort is needed, so that every launcher reads the
 * output to its end. PMPI: a refused run has no evidence and no profile. MPICH over UCX may hang in
 * MPI_Finalize; LAM's mpirun ignores the exit status of a rank that has called it. */
static void leave_together(void) {
    if (mpi_is_up()) {
        signal(SIGALRM, SIG_DFL);
        alarm(FINALISE_PATIENCE_S);
        PMPI_Barrier(MPI_COMM_WORLD);
#ifndef LAM_MPI
        PMPI_Finalize();
#endif
    }
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
    leave_alone();
}

void fail_answer(int condition, const char *where, const char *format, ...) {
    if (!condition)
        return;
    va_list values;
    va_start(values, format);
    print_error(where, format, values, own_rank(), 1);
    va_end(values);
    leave_alone();
}

void fail_all(int condition, const char *where, const char *format, ...) {
    if (!condition)
        return;
    if (own_rank() == 0) {
        va_list values;
        va_start(values, format);
        print_error(where, format, values, 0, 0);
        va_end(values);
    }
    leave_together();
}
