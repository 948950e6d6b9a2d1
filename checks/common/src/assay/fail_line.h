/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdarg.h>

/* Print the error line of fail.h on standard output. Local, no MPI. */
void fail_line(const char *where, const char *format, va_list values, int rank, int wrong);
