/* SPDX-License-Identifier: Apache-2.0 */
/* Main program for the HPL inside HPCC 1.5.0, which has none: reads HPL.dat in the working
 * directory, lets HPL print its own text (device 6 = standard output) and adds JSON lines with the
 * exact values of every test. HPL_main returns only the fastest test, so HPL_pdtest is wrapped (ld
 * --wrap). */
#include <hpl.h>

#include "assay/fail.h"
#include "assay/report.h"

#include <math.h>
#include <string.h>

#define PROGRAM "hpl"
#define PURPOSE "HPL 2.0 of HPCC 1.5.0; reads HPL.dat in the working directory"

int HPL_main(int argc, char **argv, HPL_RuntimeData *result, int *failure);
void __real_HPL_pdtest(HPL_T_test *test, HPL_T_grid *grid, HPL_T_palg *algorithm, const int n,
                       const int nb, HPL_RuntimeData *result);
void __wrap_HPL_pdtest(HPL_T_test *test, HPL_T_grid *grid, HPL_T_palg *algorithm, const int n,
                       const int nb, HPL_RuntimeData *result);
int HPCC_Defaults(void);

static int tests; /* started on this rank */

/* Called by HPL for each test. Collective over the process grid. */
void __wrap_HPL_pdtest(HPL_T_test *test, HPL_T_grid *grid, HPL_T_palg *algorithm, const int n,
                       const int nb, HPL_RuntimeData *result) {
    struct json note;
    int rank, skipped = test->kskip, passed = test->kpass;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fail_if(rank == 0 && !(test->thrsh > 0), PROGRAM,
            "HPL.dat: found threshold %g, allowed is above 0 (HPL checks nothing otherwise)",
            test->thrsh);
    tests++;
    memset(result, 0, sizeof *result);
    __real_HPL_pdtest(test, grid, algorithm, n, nb, result);
    if (rank != 0) /* rank 0 is at (0,0) of every grid, which has the results */
        return;
    fail_if(test->kskip > skipped, PROGRAM, "test %d skipped: no memory for the matrix of N = %d",
            tests, n);
    /* HPL's scaled residual ||Ax-b|| / (eps (||A|| ||x|| + ||b||) N), in the maximum norm. */
    double residual =
        result->RnormI /
        (test->epsil * (result->AnormI * result->XnormI + result->BnormI) * (double)result->N);
    fail_if(!isfinite(residual), PROGRAM, "the residual of test %d is not a finite number", tests);
    json_begin(&note);
    json_integer(&note, "test", tests);
    json_number(&note, "time_s", result->time);
    json_number(&note, "gflops", result->Gflops);
    json_integer(&note, "n", result->N);
    json_integer(&note, "nb", result->NB);
    json_integer(&note, "p", result->nprow);
    json_integer(&note, "q", result->npcol);
    json_number(&note, "residual", residual);
    json_number(&note, "threshold", test->thrsh);
    json_boolean(&note, "passed", test->kpass > passed);
    report_note_object("hpl_result", &note);
}

/* HPL calls this if its input cannot be read. Collective. */
int HPCC_Defaults(void) {
    fail_all(1, "HPL_pdinfo", "HPL.dat is missing or has an illegal value: see standard error");
    return 1;
}

int main(int argc, char **argv) {
    HPL_RuntimeData best;
    int rank, failure = 0;
    memset(&best, 0, sizeof best);
    MPI_Init(&argc, &argv);
    args_read(PROGRAM, PURPOSE, NULL, 0, argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        report_program(PROGRAM, NULL, 0);
    HPL_main(argc, argv, &best, &failure);
    fflush(stdout);
    if (rank == 0) {
        fail_if(tests == 0, PROGRAM, "HPL.dat: no test was run");
        fail_if(failure, PROGRAM, "a test failed its residual check or was skipped");
        report_note_integer("tests", tests);
        report_end(PROGRAM, 1);
    }
    MPI_Finalize();
    return 0;
}
