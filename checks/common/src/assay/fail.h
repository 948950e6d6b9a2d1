/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How a run fails. If condition holds, print
 *   {"assay":"error","where":where,"message":…,"rank":…}
 * on standard output and end every rank of MPI_COMM_WORLD with a non-zero status. where names the
 * function; the format is printf's. The line is not lost when the launcher ends the run.
 *
 * fail_if   needs no other rank: for what one rank finds out. Waits until the launcher has read the
 *           line, then MPI_Abort with FAIL_STATUS; plain exit before MPI_Init and after
 *           MPI_Finalize.
 * fail_all  is collective: the condition must be the same on every rank, and no communication may
 *           be under way; rank 0 alone prints. MPI_Finalize (not in LAM), then exit with
 *           FAIL_STATUS: no abort.
 */
#define FAIL_STATUS 2

/* fail_answer is fail_if for a wrong answer: the line has the member "wrong":true, and the launch
 * becomes a `wrong` record, not a `failed` one. */

#ifdef __GNUC__
#define FAIL_FORMAT __attribute__((format(printf, 3, 4)))
#else
#define FAIL_FORMAT
#endif

void fail_if(int condition, const char *where, const char *format, ...) FAIL_FORMAT;
void fail_answer(int condition, const char *where, const char *format, ...) FAIL_FORMAT;
void fail_all(int condition, const char *where, const char *format, ...) FAIL_FORMAT;
