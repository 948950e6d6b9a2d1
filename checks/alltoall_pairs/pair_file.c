/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_file.h"

#include "assay/buffer.h"
#include "assay/fail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    char magic[8];
    uint32_t order, version;
    uint64_t rows;
    uint32_t nodes, names_bytes;
};

struct row {
    uint32_t node, peer;
    float latency_s, bandwidth;
};

struct pair_file {
    FILE *stream;
    const char *path;
    struct header header;
    uint32_t crc, table[256];
};

static void check(const struct pair_file *file, int good) {
    fail_if(!good, "pair_file", "%s: cannot be written: %s", file->path, strerror(errno));
}

static void write_summed(struct pair_file *file, const void *data, size_t bytes) {
    const unsigned char *byte = data;
    uint32_t crc = file->crc;
    for (size_t i = 0; i < bytes; i++)
        crc = file->table[(crc ^ byte[i]) & 255] ^ crc >> 8;
    file->crc = crc;
    check(file, fwrite(data, 1, bytes, file->stream) == bytes);
}

static void write_header(struct pair_file *file, uint64_t rows) {
    file->header.rows = rows;
    rewind(file->stream);
    check(file, fwrite(&file->header, sizeof file->header, 1, file->stream) == 1);
}

struct pair_file *pair_file_open(const char *path, int nodes, const char *const *names) {
    struct pair_file *file = buffer_make(1, sizeof *file);
    for (uint32_t i = 0; i < 256; i++) {
        file->table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            file->table[i] = file->table[i] >> 1 ^ (file->table[i] & 1 ? 0xEDB88320U : 0);
    }
    file->crc = 0xFFFFFFFFU;
    file->path = path;
    file->stream = fopen(path, "wb");
    check(file, file->stream != NULL);
    file->header = (struct header){"", 0x01020304U, 1, 0, (uint32_t)nodes, 0};
    memcpy(file->header.magic, "ASSAYPRS", sizeof file->header.magic);
    for (int node = 0; node < nodes; node++)
        file->header.names_bytes += (uint32_t)strlen(names[node]) + 1;
    write_header(file, UINT64_MAX);
    for (int node = 0; node < nodes; node++)
        write_summed(file, names[node], strlen(names[node]) + 1);
    file->header.rows = 0;
    return file;
}

void pair_file_add(struct pair_file *file, int node, int peer, double latency_s, double bandwidth) {
    const struct row row = {(uint32_t)node, (uint32_t)peer, (float)latency_s, (float)bandwidth};
    write_summed(file, &row, sizeof row);
    file->header.rows++;
}

struct pair_file_sum pair_file_close(struct pair_file *file) {
    struct pair_file_sum sum = {file->header.rows, file->crc ^ 0xFFFFFFFFU};
    const uint32_t end[] = {sum.crc, 0x04030201U};
    check(file, fwrite(end, sizeof end, 1, file->stream) == 1);
    write_header(file, sum.rows);
    check(file, fclose(file->stream) == 0);
    free(file);
    return sum;
}
