/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdarg.h>

/* Print the error line of fail.h on standard output. Local, no MPI. */
void fail_line(const char *where, const char *format, va_list values, int rank, int wrong);

/* Define a function of fail.h: end(where, format, values, wrong) prints the line and exits. */
#define DEFINE_FAIL(name, end, wrong)                                                              \
    void name(int condition, const char *where, const char *format, ...) {                         \
        va_list values;                                                                            \
        if (!condition)                                                                            \
            return;                                                                                \
        va_start(values, format);                                                                  \
        end(where, format, values, wrong);                                                         \
        va_end(values);                                                                            \
    }
