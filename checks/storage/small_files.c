/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_DIRECTORY */
#include "small_files.h"

#include "assay/fail.h"
#include "assay/payload.h"
#include "assay/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const small_metrics[SMALL_STEPS] = {"storage_create_rate", "storage_stat_rate",
                                                "storage_small_read_rate", "storage_remove_rate"};

/* The folder of a rank's files, open, and the step's own buffer. */
struct work {
    const struct small_files *files;
    int folder, writer;
    char name[32];
    unsigned char right[SMALL_BYTES], found[SMALL_BYTES + 1];
};

static void refuse(int failed, const struct work *work, const char *what) {
    fail_if(failed, "small_files", "small.%d/%s: %s: %s", work->writer, work->name, what,
            strerror(errno));
}

static void make_content(struct work *work, long long number) {
    uint64_t of_rank = work->files->seed * 1000003U + (uint64_t)work->writer;
    payload_pattern(work->right, SMALL_BYTES, of_rank * 1000003U + (uint64_t)number);
}

static void create(struct work *work, long long number) {
    make_content(work, number);
    int file = openat(work->folder, work->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    refuse(file < 0, work, "create");
    refuse(write(file, work->right, SMALL_BYTES) != SMALL_BYTES, work, "write");
    refuse(fsync(file) != 0, work, "fsync");
    target_drop(file);
    refuse(close(file) != 0, work, "close");
}

static void get_status(struct work *work, long long number) {
    struct stat status;
    (void)number;
    refuse(fstatat(work->folder, work->name, &status, AT_SYMLINK_NOFOLLOW) != 0, work, "stat");
    fail_answer(status.st_size != SMALL_BYTES, __func__, "small.%d/%s has %lld bytes, not %d",
                work->writer, work->name, (long long)status.st_size, SMALL_BYTES);
}

static void read_back(struct work *work, long long number) {
    make_content(work, number);
    int file = openat(work->folder, work->name, O_RDONLY | O_CLOEXEC);
    refuse(file < 0, work, "open");
    ssize_t bytes = read(file, work->found, sizeof work->found);
    refuse(bytes < 0, work, "read");
    close(file);
    fail_answer(bytes != SMALL_BYTES || memcmp(work->found, work->right, SMALL_BYTES) != 0,
                __func__, "small.%d/%s does not hold what rank %d wrote", work->writer, work->name,
                work->writer);
}

static void remove_file(struct work *work, long long number) {
    (void)number;
    refuse(unlinkat(work->folder, work->name, 0) != 0, work, "remove");
}

static int folder_of(const struct small_files *files, int rank, int make) {
    char path[PATH_MAX];
    target_path(files->target, "small", rank, path);
    int failed = make && mkdir(path, 0700) != 0;
    fail_if(failed, __func__, "%s: cannot be made: %s", path, strerror(errno));
    return target_open(path, O_RDONLY | O_DIRECTORY);
}

void small_files_time(const struct small_files *files, double times[SMALL_STEPS]) {
    static void (*const steps[])(struct work *, long long) = {create, get_status, read_back,
                                                              remove_file};
    const struct target *target = files->target;
    struct work work = {.files = files, .writer = target->rank};
    char path[PATH_MAX];
    work.folder = folder_of(files, target->rank, 1);
    for (int step = 0; step < SMALL_STEPS; step++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (step == SMALL_STAT) { /* from here on another rank's files */
            close(work.folder);
            work.writer = target->writer;
            work.folder = folder_of(files, work.writer, 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = world.timer.now();
        for (long long number = 0; number < files->count; number++) {
            snprintf(work.name, sizeof work.name, "%lld", number);
            steps[step](&work, number);
        }
        if (step == SMALL_CREATE || step == SMALL_REMOVE)
            refuse(fsync(work.folder) != 0 && errno != EINVAL, &work, "fsync of the folder");
        times[step] = world.timer.now() - begin;
    }
    close(work.folder);
    MPI_Barrier(MPI_COMM_WORLD);
    target_path(target, "small", target->rank, path);
    fail_if(rmdir(path) != 0, __func__, "%s: cannot be removed: %s", path, strerror(errno));
}
