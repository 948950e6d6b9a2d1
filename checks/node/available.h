/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bytes that a process may still take which has `taken` so many, one of `sharing` alike on its
 * node: the least of what the kernel has available less a reserve for the node itself, of what the
 * memory limits of the process's control groups leave (version 1 and 2), and of its share of what
 * Slurm gave the job on the node (SLURM_MEM_PER_NODE). What cannot be read limits nothing;
 * LLONG_MAX if nothing can. Local. root: "", or a folder that stands for / (proofs). */
long long available_bytes(const char *root, long long taken, long long sharing);

/* The share of the node's memory that is left to the node. */
#define AVAILABLE_RESERVE 0.03

/* The memory of the node, or 0 if it cannot be read. */
long long total_bytes(const char *root);
