/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_DIRECT */
#include "transfers.h"

#include "assay/fail.h"
#include "assay/payload.h"
#include "assay/program.h"
#include "assay/shuffle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Transfers begin at so many places of the pattern in turn; a prime, so that no power of two of
 * transfers has the same content. */
enum { PLACES = 61 };

/* What a rank writes: a pattern, of which each transfer is a window with a mark in front. */
struct content {
    unsigned char *pattern;
    uint64_t mark;
};

static void *blocks(size_t bytes) {
    void *memory = NULL;
    int failed = posix_memalign(&memory, BLOCK_BYTES, bytes);
    fail_if(failed, __func__, "%zu bytes cannot be had", bytes);
    return memory;
}

static struct content content_of(const struct transfers *transfers, int writer) {
    size_t length = (size_t)transfers->bytes + (size_t)PLACES * BLOCK_BYTES;
    struct content content = {blocks(length), transfers->seed * 1000003U + (uint64_t)writer};
    payload_pattern(content.pattern, length, content.mark);
    return content;
}

static unsigned char *window(const struct content *content, size_t transfer) {
    return content->pattern + transfer % PLACES * BLOCK_BYTES;
}

/* Mark a window as the one of a transfer, or take the mark away again. */
static void mark(const struct content *content, size_t transfer, unsigned char *front) {
    struct generator generator = {content->mark + transfer};
    uint64_t word = generator_next(&generator);
    for (size_t i = 0; i < sizeof word; i++)
        front[i] ^= (unsigned char)(word >> (8 * i));
}

static void path_of(const struct transfers *transfers, int writer, char *path) {
    target_path(transfers->target, "data", transfers->shared ? -1 : writer, path);
}

/* Where the part of a rank begins in its file. */
static long long part_begin(const struct transfers *transfers, int writer) {
    return transfers->shared ? writer * transfers->count * transfers->bytes : 0;
}

static size_t *order_of(const struct transfers *transfers, uint64_t salt) {
    size_t count = (size_t)transfers->count, *order = malloc(count * sizeof *order);
    fail_if(!order, __func__, "no memory for the order of %zu transfers", count);
    if (transfers->random)
        shuffle(order, count, transfers->seed * 2654435761U + salt);
    else
        for (size_t i = 0; i < count; i++)
            order[i] = i;
    return order;
}

static int direct_flag(const struct transfers *transfers) {
    return transfers->target->direct ? O_DIRECT : 0;
}

/* Write or read all of a transfer; an error or the file's end ends the run. */
static void move(int file, unsigned char *data, long long bytes, long long offset, int writes,
                 const char *path) {
    for (long long done = 0; done < bytes;) {
        size_t left = (size_t)(bytes - done);
        ssize_t moved = writes ? pwrite(file, data + done, left, offset + done)
                               : pread(file, data + done, left, offset + done);
        if (moved < 0 && errno == EINTR)
            continue;
        fail_if(moved < 0, __func__, "%s: %s at %lld: %s", path, writes ? "write" : "read",
                offset + done, strerror(errno));
        fail_answer(moved == 0, __func__, "%s ends at %lld", path, offset + done);
        done += moved;
    }
}

double transfers_write(const struct transfers *transfers) {
    char path[PATH_MAX];
    int own = transfers->target->rank;
    struct content content = content_of(transfers, own);
    size_t *order = order_of(transfers, (uint64_t)own);
    path_of(transfers, own, path);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = world.timer.now();
    int file = target_open(path, O_WRONLY | O_CREAT | direct_flag(transfers));
    for (long long i = 0; i < transfers->count; i++) {
        unsigned char *data = window(&content, order[i]);
        long long at = part_begin(transfers, own) + (long long)order[i] * transfers->bytes;
        mark(&content, order[i], data);
        data[transfers->bytes - 1] ^= (unsigned char)transfers->inject_fault;
        move(file, data, transfers->bytes, at, 1, path);
        data[transfers->bytes - 1] ^= (unsigned char)transfers->inject_fault;
        mark(&content, order[i], data);
    }
    fail_if(fsync(file) != 0, __func__, "%s: fsync: %s", path, strerror(errno));
    int kept = dup(file); /* the pages are dropped once the clock has stopped */
    fail_if(close(file) != 0, __func__, "%s: close: %s", path, strerror(errno));
    double time_s = world.timer.now() - begin;
    target_drop(kept);
    close(kept);
    free(order);
    free(content.pattern);
    return time_s;
}

static void compare(const unsigned char *found, unsigned char *right, const struct content *content,
                    size_t transfer, size_t bytes, const char *path) {
    mark(content, transfer, right);
    if (memcmp(found, right, bytes) != 0) {
        size_t at = 0;
        while (found[at] == right[at])
            at++;
        fail_answer(1, __func__, "%s: byte %zu of transfer %zu is %u, not %u", path, at, transfer,
                    found[at], right[at]);
    }
    mark(content, transfer, right);
}

double transfers_read(const struct transfers *transfers, double *resident) {
    char path[PATH_MAX];
    const struct target *target = transfers->target;
    long long part = transfers->count * transfers->bytes;
    long long first = part_begin(transfers, target->writer);
    struct content content = content_of(transfers, target->writer);
    unsigned char *found = blocks((size_t)transfers->bytes);
    size_t *order = order_of(transfers, 1U << 31 | (uint64_t)target->rank);
    path_of(transfers, target->writer, path);
    MPI_Barrier(MPI_COMM_WORLD); /* all is written */
    int file = target_open(path, O_RDONLY);
    target_drop(file);
    *resident = target_resident(file, first, part);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = world.timer.now();
    file = target_open(path, O_RDONLY | direct_flag(transfers));
    for (long long i = 0; i < transfers->count; i++) {
        move(file, found, transfers->bytes, first + (long long)order[i] * transfers->bytes, 0,
             path);
        compare(found, window(&content, order[i]), &content, order[i], (size_t)transfers->bytes,
                path);
    }
    close(file);
    double time_s = world.timer.now() - begin;
    free(order);
    free(found);
    free(content.pattern);
    return time_s;
}

void transfers_remove(const struct transfers *transfers) {
    char path[PATH_MAX];
    const struct target *target = transfers->target;
    path_of(transfers, target->rank, path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!transfers->shared || target->rank == 0)
        fail_if(unlink(path) != 0, __func__, "%s: cannot be removed: %s", path, strerror(errno));
    MPI_Barrier(MPI_COMM_WORLD);
}
