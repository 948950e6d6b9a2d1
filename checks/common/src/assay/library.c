/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, realpath */
#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function pointer from dlsym without breaking the rule that object and function pointers do
 * not convert. */
typedef int (*get_version)(char *, int *);

static void *lookup(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    return found ? found : dlsym(RTLD_NEXT, name);
}

/* "MPICH Version:\t4.0.2\nMPICH Device:…\nMPICH configure:…" becomes
 * "MPICH 4.0.2; MPICH Device: …": white space collapsed, build options cut off. */
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

/* The start of LAM 7.1's struct lam_ssi_1_0_0 (share/include/lam-ssi.h), which every module's
 * record begins with. */
struct lam_module {
    int api_version[3];
    char kind[32];
    int kind_version[3];
    char name[64];
    int version[3];
};

/* LAM tells its version only by printing it ("LAM 7.1.4/MPI 2 C++ - Indiana University"), so
 * standard output is exchanged for a moment, which the GNU C library allows. 1 if release holds
 * the version then. */
static int lam_release(char *release, size_t size) {
    void (*show)(int) = NULL;
    void *found = lookup("lam_show_version");
    char *printed = NULL;
    size_t length = 0;
    memcpy(&show, &found, sizeof show);
    FILE *aside = show ? open_memstream(&printed, &length) : NULL;
    if (!aside)
        return 0;
    FILE *own = stdout;
    stdout = aside;
    show(0);
    stdout = own;
    fclose(aside);
    const char *number = printed ? strstr(printed, "LAM ") : NULL;
    if (number)
        snprintf(release, size, "%.*s", (int)strcspn(number + 4, "/ \n"), number + 4);
    free(printed);
    return number != NULL;
}

static int lam_version(char *text, size_t size) {
    char release[32] = "";
    const struct lam_module *rpi = lookup("lam_ssi_rpi_base_module");
    if (!rpi || strncmp(rpi->kind, "rpi", sizeof rpi->kind) != 0)
        return 0;
    if (!lam_release(release, sizeof release)) {
#ifdef LAM_MAJOR_VERSION /* what it was compiled with, when the library does not say */
        snprintf(release, sizeof release, "%d.%d.%d", LAM_MAJOR_VERSION, LAM_MINOR_VERSION,
                 LAM_RELEASE_VERSION);
#endif
    }
    snprintf(text, size, "LAM/MPI %s (rpi %.63s)", release, rpi->name);
    return 1;
}

void library_version(char *text, size_t size) {
    char raw[8192] = "";
    int length = 0;
    get_version ask = NULL;
    void *found = lookup("PMPI_Get_library_version");
    memcpy(&ask, &found, sizeof ask);
    if (ask && ask(raw, &length) == MPI_SUCCESS)
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
    /* RTLD_NEXT passes by wrappers and by a program's own entry for the function. */
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
