/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The values of very many pairs as a file, written by rank 0 while rounds end; read and checked by
 * pair_file.py. Bytes in the order of this machine:
 *   header      "ASSAYPRS", u32 0x01020304, u32 version 1, u64 rows, u32 nodes, u32 bytes of names
 *   names       of the nodes by number, each with its NUL
 *   rows        u32 node, u32 peer (node < peer), f32 latency s, f32 bandwidth bytes/s
 *   end         u32 CRC-32 (IEEE 802.3) of names and rows, u32 0x04030201
 * The header's rows are all ones until the file is complete. An error of the file ends the run
 * (fail_if). Local. */
struct pair_file;

struct pair_file *pair_file_open(const char *path, int nodes, const char *const *names);
void pair_file_add(struct pair_file *file, int node, int peer, double latency_s, double bandwidth);

struct pair_file_sum {
    uint64_t rows;
    uint32_t crc;
};

/* End the file; what it holds, to be said on standard output. */
struct pair_file_sum pair_file_close(struct pair_file *file);
