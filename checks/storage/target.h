/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/hosts.h"

#include <mpi.h>

/* Where files are written: a folder of one launch, on a file system of a declared type. */

enum { BLOCK_BYTES = 4096 }; /* O_DIRECT: lengths, offsets and addresses are multiples */

struct target {
    const char *folder;    /* of this launch alone; removed by target_leave */
    const char *type;      /* declared type of its file system, as in /proc/mounts */
    long long limit_bytes; /* most bytes of files at a time, of all ranks */
    long long files;       /* most files at a time, of all ranks */
    int local;             /* each node has its own */
    int direct;            /* O_DIRECT: asked for; after target_enter, possible on all ranks */
    char caches[256];      /* after target_enter: how caches are avoided, for readers */
    MPI_Comm ranks;   /* those that see the same files: all, or of a node; by node, then rank */
    int rank, count;  /* in ranks */
    int writer;       /* whose files this rank reads: on another node, where one is */
    MPI_Comm on_node; /* the ranks of this node */
};

/* Make the folder and judge the target. The run ends where the file system has another type than
 * declared, the nodes do not see the same folder (and local is not set), or limit_bytes and files
 * with a margin do not fit into what is free: nothing is written then. Collective over all ranks.
 */
void target_enter(struct target *target, const struct hosts *hosts);

/* The path of a file of rank `of` in target->ranks, into path (PATH_MAX bytes): FOLDER/name.of, or
 * FOLDER/name for a negative `of`. */
void target_path(const struct target *target, const char *name, int of, char *path);

/* Open a file; a failure ends the run (fail_if) with the system's reason. */
int target_open(const char *path, int flags);

/* Whether files are pages of memory anyway (tmpfs, ramfs). */
int target_is_memory(const struct target *target);

/* Ask the kernel to forget the pages of an open file. */
void target_drop(int file);

/* Pages in memory of bytes of an open file from offset on, as a share. */
double target_resident(int file, long long offset, long long bytes);

/* Remove the folder. Collective over all ranks. */
void target_leave(const struct target *target);
