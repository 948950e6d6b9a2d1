/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dl_iterate_phdr, RTLD_NEXT */
#include "wrap.h"

#ifdef PROFILE_FORTRAN
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the Fortran bindings are (Open MPI's; MPICH's as Debian and as others call them); empty if
 * they are not loaded. */
static uintptr_t begin, end;

static int find(struct dl_phdr_info *info, size_t size, void *nothing) {
    (void)size;
    (void)nothing;
    const char *const file = info->dlpi_name;
    if (!strstr(file, "libmpi_mpifh") && !strstr(file, "libmpichfort") &&
        !strstr(file, "libmpifort"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            end = begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

__attribute__((constructor)) static void find_bindings(void) { dl_iterate_phdr(find, NULL); }

int profile_from_fortran(const void *caller) {
    return (uintptr_t)caller >= begin && (uintptr_t)caller < end;
}

void *profile_next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "assay: the MPI library has no %s\n", name);
        abort();
    }
    return found;
}
#endif
