/* SPDX-License-Identifier: Apache-2.0 */
/* assay/fail.h for one process without MPI: print and exit. That closes the connection, which the
 * other end reports. */
#include "assay/fail.h"

#include "assay/fail_line.h"

#include <stdlib.h>

static void end(const char *where, const char *format, va_list values, int wrong) {
    fail_line(where, format, values, 0, wrong);
    exit(FAIL_STATUS);
}

DEFINE_FAIL(fail_if, end, 0)
DEFINE_FAIL(fail_all, end, 0)
DEFINE_FAIL(fail_answer, end, 1)
