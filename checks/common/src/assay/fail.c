/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, alarm */
#include "fail.h"

#include "fail_line.h"

#include <mpi.h>
#include <signal.h>
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
static void end_alone(const char *where, const char *format, va_list values, int wrong) {
    int rank = 0, ranks = 1, up = mpi_is_up();
    if (up) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    print_error(where, format, values, rank, wrong);
#ifdef LAM_MPI
    up = up && ranks > 1;
#endif
    if (up)
        MPI_Abort(MPI_COMM_WORLD, FAIL_STATUS);
    exit(FAIL_STATUS);
}

/* Every rank is here; rank 0 prints. No abort is needed, so that every launcher reads the output to
 * its end. PMPI: a refused run has no evidence and no profile. MPICH over UCX may hang in
 * MPI_Finalize; LAM's mpirun ignores the exit status of a rank that has called it. */
static void end_together(const char *where, const char *format, va_list values, int wrong) {
    int rank = 0, up = mpi_is_up();
    if (up)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        print_error(where, format, values, rank, wrong);
    if (up) {
        signal(SIGALRM, SIG_DFL);
        alarm(FINALISE_PATIENCE_S);
        PMPI_Barrier(MPI_COMM_WORLD);
#ifndef LAM_MPI
        PMPI_Finalize();
#endif
    }
    exit(FAIL_STATUS);
}

DEFINE_FAIL(fail_if, end_alone, 0)
DEFINE_FAIL(fail_answer, end_alone, 1)
DEFINE_FAIL(fail_all, end_together, 0)
