/* SPDX-License-Identifier: Apache-2.0 */
/* assay/fail.h for one process without MPI: print and exit. That closes the connection, which the
 * other end reports. */
#include "assay/fail.h"

#include "assay/fail_line.h"

#include <stdlib.h>

#define DEFINE_FAIL(name, wrong)                                                                   \
    void name(int condition, const char *where, const char *format, ...) {                         \
        va_list values;                                                                            \
        if (!condition)                                                                            \
            return;                                                                                \
        va_start(values, format);                                                                  \
        fail_line(where, format, values, 0, wrong);                                                \
        va_end(values);                                                                            \
        exit(FAIL_STATUS);                                                                         \
    }

DEFINE_FAIL(fail_if, 0)
DEFINE_FAIL(fail_all, 0)
DEFINE_FAIL(fail_answer, 1)
