/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_DIRECT, realpath, mincore */
#include "target.h"

#include "assay/fail.h"
#include "assay/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TYPE_BYTES 64
#define LINE_BYTES 8192
/* Of what is free, a tenth stays free; of memory, half. */
#define MARGIN 1.1

void target_path(const struct target *target, const char *name, int of, char *path) {
    int length = of < 0 ? snprintf(path, PATH_MAX, "%s/%s", target->folder, name)
                        : snprintf(path, PATH_MAX, "%s/%s.%d", target->folder, name, of);
    fail_if(length >= PATH_MAX, __func__, "%s: the path is longer than %d bytes", target->folder,
            PATH_MAX);
}

int target_open(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC, 0600);
    fail_if(file < 0, __func__, "%s: %s", path, strerror(errno));
    return file;
}

int target_is_memory(const struct target *target) {
    return strcmp(target->type, "tmpfs") == 0 || strcmp(target->type, "ramfs") == 0;
}

/* Octal escapes of /proc/self/mountinfo. */
static void unescape(char *text) {
    char *to = text;
    for (; *text; text++, to++) {
        *to = *text;
        if (*text == '\\' && text[1] && text[2] && text[3]) {
            *to = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 3;
        }
    }
    *to = 0;
}

/* The type of the file system of an absolute path without links: of the longest mount point that
 * leads there, and of several mounts there the last. */
static void find_type(const char *path, char *type) {
    static char line[LINE_BYTES], point[LINE_BYTES];
    size_t longest = 0;
    FILE *mounts = fopen("/proc/self/mountinfo", "r");
    snprintf(type, TYPE_BYTES, "unknown");
    while (mounts && fgets(line, sizeof line, mounts)) {
        char found[TYPE_BYTES];
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(rest, " - %63s", found) != 1 ||
            sscanf(line, "%*s %*s %*s %*s %8191s", point) != 1)
            continue;
        unescape(point);
        size_t length = strcmp(point, "/") == 0 ? 0 : strlen(point);
        int leads = strncmp(path, point, length) == 0 && (!path[length] || path[length] == '/');
        if (leads && length >= longest) {
            longest = length;
            snprintf(type, TYPE_BYTES, "%s", found);
        }
    }
    if (mounts)
        fclose(mounts);
}

static void refuse_other_type(const struct target *target) {
    char real[PATH_MAX], type[TYPE_BYTES], host[HOST_BYTES];
    host_short_name(host);
    fail_if(!realpath(target->folder, real), __func__, "%s on %s: %s", target->folder, host,
            strerror(errno));
    find_type(real, type);
    fail_if(strcmp(type, target->type) != 0, __func__,
            "%s on %s is a file system of type %s; declared is %s: mount it, or correct `storage` "
            "of the site.yaml",
            target->folder, host, type, target->type);
}

/* Collective over target->ranks: a file that the first one makes must be there for all. */
static void refuse_another_folder(const struct target *target) {
    char path[PATH_MAX], host[HOST_BYTES];
    host_short_name(host);
    target_path(target, "seen-by-all", -1, path);
    if (target->rank == 0)
        close(target_open(path, O_WRONLY | O_CREAT | O_EXCL));
    MPI_Barrier(target->ranks);
    fail_if(access(path, F_OK) != 0, __func__,
            "%s on %s is not the folder that rank 0 sees; say `shared: false` in `storage` of the "
            "site.yaml where each node has its own",
            target->folder, host);
    MPI_Barrier(target->ranks);
    if (target->rank == 0)
        unlink(path);
    MPI_Barrier(target->ranks); /* a rank that fails from here on ends the others at once */
}

static void refuse_full(const struct target *target) {
    struct statvfs at;
    int failed = statvfs(target->folder, &at);
    fail_if(failed, __func__, "%s: %s", target->folder, strerror(errno));
    double share = (double)target->count / world.ranks,
           needed = share * (double)target->limit_bytes;
    double free_bytes = (double)at.f_bavail * (double)at.f_frsize;
    if (target_is_memory(target)) {
        double memory = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 2;
        free_bytes = memory < free_bytes ? memory : free_bytes;
    }
    fail_if(MARGIN * needed > free_bytes, __func__,
            "%s has %.3g GB free for files; needed are %.3g GB and a tenth more: nothing was "
            "written",
            target->folder, free_bytes / 1e9, needed / 1e9);
    double files = MARGIN * share * (double)target->files;
    fail_if(at.f_files > 0 && files > (double)at.f_favail, __func__,
            "%s has room for %.0f files; needed are %.0f: nothing was written", target->folder,
            (double)at.f_favail, files);
}

/* Whether this rank can write and read with O_DIRECT; errno says why not. */
static int can_be_direct(const struct target *target) {
    char path[PATH_MAX];
    void *block = NULL;
    target_path(target, "direct", target->rank, path);
    int file = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
    if (file < 0)
        return 0;
    int able = posix_memalign(&block, BLOCK_BYTES, BLOCK_BYTES) == 0;
    if (able)
        memset(block, 1, BLOCK_BYTES);
    able = able && pwrite(file, block, BLOCK_BYTES, 0) == BLOCK_BYTES &&
           pread(file, block, BLOCK_BYTES, 0) == BLOCK_BYTES;
    int reason = errno;
    close(file);
    unlink(path);
    free(block);
    errno = reason;
    return able;
}

static void choose_caches(struct target *target) {
    int refused = 0, most;
    const char *dropped = "posix_fadvise(POSIX_FADV_DONTNEED) after fsync";
    if (target->direct && !target_is_memory(target))
        refused = can_be_direct(target) ? 0 : errno ? errno : EIO;
    MPI_Allreduce(&refused, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (target_is_memory(target))
        snprintf(target->caches, sizeof target->caches, "none avoided: %s is memory", target->type);
    else if (!target->direct)
        snprintf(target->caches, sizeof target->caches, "%s", dropped);
    else if (most)
        snprintf(target->caches, sizeof target->caches, "%s; O_DIRECT was refused: %s", dropped,
                 strerror(most));
    else
        snprintf(target->caches, sizeof target->caches, "O_DIRECT");
    target->direct = target->direct && !most && !target_is_memory(target);
}

void target_enter(struct target *target, const struct hosts *hosts) {
    int node = hosts->node[world.rank], on_node, widest;
    MPI_Comm_split(MPI_COMM_WORLD, node, world.rank, &target->on_node);
    /* By node, then by rank: a shift by the ranks of a node leads to another one. */
    MPI_Comm_split(MPI_COMM_WORLD, target->local ? node : 0, node * world.ranks + world.rank,
                   &target->ranks);
    MPI_Comm_rank(target->ranks, &target->rank);
    MPI_Comm_size(target->ranks, &target->count);
    MPI_Comm_size(target->on_node, &on_node);
    MPI_Allreduce(&on_node, &widest, 1, MPI_INT, MPI_MAX, target->ranks);
    int shift = widest < target->count ? widest : 1;
    target->writer = (target->rank + shift) % target->count;
    int failed = mkdir(target->folder, 0700) != 0 && errno != EEXIST;
    fail_if(failed, __func__, "%s: cannot be made: %s", target->folder, strerror(errno));
    refuse_other_type(target);
    refuse_another_folder(target);
    refuse_full(target);
    choose_caches(target);
}

void target_drop(int file) { posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED); }

double target_resident(int file, long long offset, long long bytes) {
    long page = sysconf(_SC_PAGESIZE);
    long long begin = offset / page * page, length = offset + bytes - begin;
    size_t pages = (size_t)((length + page - 1) / page), found = 0;
    unsigned char *states = malloc(pages);
    void *map = mmap(NULL, (size_t)length, PROT_READ, MAP_SHARED, file, begin);
    fail_if(!states || map == MAP_FAILED || mincore(map, (size_t)length, states) != 0, __func__,
            "what is in memory of a file cannot be found: %s", strerror(errno));
    for (size_t i = 0; i < pages; i++)
        found += states[i] & 1U;
    munmap(map, (size_t)length);
    free(states);
    return (double)found / (double)pages;
}

void target_leave(const struct target *target) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (target->rank == 0)
        fail_if(rmdir(target->folder) != 0, __func__, "%s: cannot be removed: %s", target->folder,
                strerror(errno));
}
