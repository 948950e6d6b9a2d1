/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Which MPI library this process runs, from the library itself. Local; MPI must be up. */

#define LIBRARY_TEXT 4096

/* The library's description on one line: MPI_Get_library_version (looked up at run time) up to the
 * build options. LAM has no such call: its version is captured from its own print-out, the RPI
 * module in use is read from the module record. */
void library_version(char *text, size_t size);

/* Its first part, such as `MPICH 4.0.2`, `Open MPI v4.1.4`, `LAM/MPI 7.1.4 (rpi sysv)`. */
void library_name(char *text, size_t size);

/* Path of the shared library that provides the MPI functions, symbolic links resolved; the
 * program's own path if MPI is linked statically. */
void library_file(char *text, size_t size);

/* The version of the MPI standard that the library reports, such as `3.1`. */
void library_standard(char *text, size_t size);

/* The device and transports that carry messages, as far as the library tells, else "": MPICH and
 * its kin `ch4:ofi`, `ch3:sock`, `ch3:nemesis:tcp` (the network module if configure was given it);
 * Open MPI its layer and the transports that it has opened, `ob1:self,tcp,vader`; LAM its module,
 * `sysv`. Call it once messages have been sent. */
void library_device(char *text, size_t size);
