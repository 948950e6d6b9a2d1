/* SPDX-License-Identifier: Apache-2.0 */
/* assay/library.h for PVM: which libpvm3 this process runs. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, realpath */
#include "assay/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>

void library_version(char *text, size_t size) { snprintf(text, size, "PVM %s", pvm_version()); }

void library_name(char *text, size_t size) { library_version(text, size); }

void library_file(char *text, size_t size) {
    char path[PATH_MAX];
    Dl_info info;
    void *function = dlsym(RTLD_DEFAULT, "pvm_send");
    const char *file = "/proc/self/exe";
    if (function && dladdr(function, &info) && info.dli_fname)
        file = info.dli_fname;
    snprintf(text, size, "%s", realpath(file, path) ? path : file);
}
