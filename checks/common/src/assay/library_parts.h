/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "library.h"

/* What library.c and device.c share. Local. */

/* MPI_MAX_LIBRARY_VERSION_STRING is at most that in the libraries of today. */
#define LIBRARY_RAW_TEXT 8192

/* A function or variable of the libraries that this process has loaded, or NULL. */
void *library_symbol(const char *name);

/* The library's whole description into raw (LIBRARY_RAW_TEXT); 0 if it has no call for it. */
int library_describe(char *raw);

/* The device in the description of MPICH and its kin; 0 if none is in it. */
int library_mpich_device(const char *raw, char *text, size_t size);

/* LAM's module for messages (rpi), or "" in another library. */
const char *library_lam_module(void);
