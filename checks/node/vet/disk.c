/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "vet.h"

#include "assay/buffer.h"
#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/report.h"
#include "assay/sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK (1 << 20)
#define BLOCKS 16 /* a batch, which is synchronised */
#define SMALL 4096
#define MOST 256 /* samples */

/* Write blocks of so many bytes at the beginning of the file, and synchronise; seconds. */
static double write_s(int file, const char *folder, const char *data, size_t bytes, int blocks) {
    double start = timing_monotonic();
    for (int i = 0; i < blocks; i++) {
        ssize_t done = pwrite(file, data, bytes, (off_t)bytes * i);
        fail_if(done != (ssize_t)bytes, "disk", "%s: %s", folder,
                done < 0 ? strerror(errno) : "a write came short");
    }
    fail_if(fdatasync(file) != 0, "disk", "%s: %s", folder, strerror(errno));
    return timing_monotonic() - start;
}

void disk_run(const char *folder, double seconds) {
    double rates[MOST], times[MOST], half = seconds / 2;
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), count = 0, small = 0;
    if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) { /* as on NFS */
        char path[4096];
        snprintf(path, sizeof path, "%s/assay-vet-XXXXXX", folder);
        file = mkstemp(path);
        if (file >= 0)
            unlink(path);
    }
    fail_if(file < 0, "disk", "%s: %s", folder, strerror(errno));
    char *data = buffer_make(BLOCK, 1), *read = buffer_make(SMALL, 1);
    for (size_t i = 0; i < BLOCK; i++)
        data[i] = (char)(i * 2654435761U >> 13);
    write_s(file, folder, data, BLOCK, BLOCKS); /* warm up: the blocks of the file are there */
    for (double start = timing_monotonic();
         count < MOST && (count < 3 || timing_monotonic() - start < half); count++)
        rates[count] = BLOCKS * (double)BLOCK / write_s(file, folder, data, BLOCK, BLOCKS);
    for (double start = timing_monotonic();
         small < MOST && (small < 3 || timing_monotonic() - start < half); small++)
        times[small] = write_s(file, folder, data, SMALL, 1);
    fail_answer(pread(file, read, SMALL, 0) != SMALL || memcmp(read, data, SMALL) != 0, "disk",
                "%s: what was read is not what was written", folder);
    close(file);
    report_metric("disk_rate", "bytes/s", timing_summarise(rates, count).median, NULL, 0, rates,
                  (size_t)count);
    report_metric("disk_sync_time", "s", timing_summarise(times, small).median, NULL, 0, times,
                  (size_t)small);
    free(data);
    free(read);
}
