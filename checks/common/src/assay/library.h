/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_LIBRARY_H
#define ASSAY_LIBRARY_H

#include <stddef.h>

/* Which MPI library this process really runs, asked of the library itself. Not collective; MPI
 * must be up. */

#define LIBRARY_TEXT 4096

/* The library's own description on one line: MPI_Get_library_version where it exists (looked up at
 * run time), up to its build options. LAM has no such call: its version and the RPI module in use
 * are read from its module record. */
void library_version(char *text, size_t size);

/* The first part of it: `MPICH 4.0.2`, `Open MPI v4.1.4`, `LAM/MPI 7.1.4 (rpi sysv)`. */
void library_name(char *text, size_t size);

/* Path of the file that the MPI functions were loaded from, symbolic links resolved. If MPI is
 * linked statically: the program's own path. */
void library_file(char *text, size_t size);

/* Version of the MPI standard that the library claims, such as `3.1`. */
void library_standard(char *text, size_t size);

#endif
