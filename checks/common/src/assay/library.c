/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, realpath */
#include "library_parts.h"

#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *library_symbol(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    return found ? found : dlsym(RTLD_NEXT, name);
}

/* "MPICH Version:\t4.0.2\nMPICH Device:…\nMPICH configure:…" becomes
 * "MPICH 4.0.2; MPICH Device: …": white space collapsed, build options dropped. */
static void one_line(const char *raw, char *text, size_t size) {
    size_t used = 0;
    while (*raw && used + 3 < size) {
        size_t length = strcspn(raw, "\n");
        if (length >= 15 && strncmp(raw, "MPICH configure", 15) == 0)
            break;
        if (used && length) {
            text[used++] = ';';
            text[used++] = ' ';
        }
        for (size_t i = 0; i < length && used + 3 < size; i++) {
            int space = raw[i] == ' ' || raw[i] == '\t';
            if (space && (used == 0 || text[used - 1] == ' '))
                continue;
            text[used++] = space ? ' ' : raw[i];
        }
        raw += length + (raw[length] == '\n');
    }
    text[used] = '\0';
    char *label = strstr(text, "MPICH Version: ");
    if (label == text)
        memmove(text + 6, text + 15, strlen(text + 15) + 1);
}

/* The first members of LAM 7.1's struct lam_ssi_1_0_0 (share/include/lam-ssi.h), with which every
 * module record begins. */
struct lam_module {
    int api_version[3];
    char kind[32];
    int kind_version[3];
    char name[64];
    int version[3];
};

const char *library_lam_module(void) {
    const struct lam_module *rpi = library_symbol("lam_ssi_rpi_base_module");
    int found = rpi && strncmp(rpi->kind, "rpi", sizeof rpi->kind) == 0 &&
                memchr(rpi->name, '\0', sizeof rpi->name);
    return found ? rpi->name : "";
}

/* 1 if this is LAM. LAM has no call for its version and only prints it ("LAM 7.1.4/MPI 2 C++ -
 * Indiana University"), so stdout is redirected to memory for that call (GNU C library). */
static int lam_version(char *text, size_t size) {
    char release[32] = "", *printed = NULL;
    size_t length = 0;
    void (*show)(int) = NULL;
    const char *rpi = library_lam_module();
    if (!*rpi)
        return 0;
#ifdef LAM_MAJOR_VERSION /* of the headers, if the library does not print its own */
    snprintf(release, sizeof release, "%d.%d.%d", LAM_MAJOR_VERSION, LAM_MINOR_VERSION,
             LAM_RELEASE_VERSION);
#endif
    void *found = library_symbol("lam_show_version");
    memcpy(&show, &found, sizeof show);
    FILE *memory = show ? open_memstream(&printed, &length) : NULL;
    if (memory) {
        FILE *own = stdout;
        stdout = memory;
        show(0);
        stdout = own;
        fclose(memory);
        const char *number = printed ? strstr(printed, "LAM ") : NULL;
        if (number)
            snprintf(release, sizeof release, "%.*s", (int)strcspn(number + 4, "/ \n"), number + 4);
        free(printed);
    }
    snprintf(text, size, "LAM/MPI %s (rpi %s)", release, rpi);
    return 1;
}

int library_describe(char *raw) {
    int length = 0;
    int (*ask)(char *, int *) = NULL;
    void *found = library_symbol("PMPI_Get_library_version");
    memcpy(&ask, &found, sizeof ask); /* ISO C has no conversion from void * to a function */
    return ask && ask(raw, &length) == MPI_SUCCESS;
}

void library_version(char *text, size_t size) {
    char raw[LIBRARY_RAW_TEXT] = "";
    if (library_describe(raw))
        one_line(raw, text, size);
    else if (!lam_version(text, size))
        snprintf(text, size, "unknown MPI library");
}

void library_name(char *text, size_t size) {
    library_version(text, size);
    text[strcspn(text, ",;")] = '\0';
}

void library_file(char *text, size_t size) {
    char path[PATH_MAX];
    Dl_info info;
    /* RTLD_NEXT skips wrappers and the program's own PLT entry. */
    void *function = dlsym(RTLD_NEXT, "PMPI_Send");
    if (!function)
        function = dlsym(RTLD_DEFAULT, "PMPI_Send");
    const char *file = "/proc/self/exe";
    if (function && dladdr(function, &info) && info.dli_fname)
        file = info.dli_fname;
    snprintf(text, size, "%s", realpath(file, path) ? path : file);
}

void library_standard(char *text, size_t size) {
    int major = 0, minor = 0;
    PMPI_Get_version(&major, &minor);
    snprintf(text, size, "%d.%d", major, minor);
}
