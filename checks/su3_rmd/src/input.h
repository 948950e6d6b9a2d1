/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulation.h"

/* The input: keywords with values in a fixed order, separated by blanks or line ends; `#` starts a
 * comment to the end of the line.
 *
 *   prompt 0 | nx ny nz nt N | iseed N
 *   then one block or more:
 *   warms N | trajecs N | traj_between_meas N | beta X | microcanonical_time_step X |
 *   steps_per_trajectory N | fresh, warm, continue or reload_FORMAT FILE | forget or save_FORMAT
 * FILE
 *
 * FORMAT is serial, parallel or ascii: all three mean the format of gauge_file.h. */

enum start { START_FRESH, START_WARM, START_CONTINUE, START_RELOAD };

enum { INPUT_NAME = 256 }; /* longest file name, with its NUL */

struct block {
    long warms, trajecs, between;
    struct physics physics;
    enum start start;
    int save;
    char start_word[32], end_word[32]; /* as read */
    char from[INPUT_NAME], to[INPUT_NAME];
};

struct input {
    char *text;        /* the whole input, the same on every rank */
    const char *at;    /* current position */
    int line;          /* its line number */
    int block;         /* blocks read so far */
    char message[512]; /* after an error: line, what was found, what is allowed */
};

/* Read the input on rank 0 (path NULL or "-": standard input) and broadcast it. 0, or -1 on every
 * rank with input->message set on rank 0. Collective over comm. */
int input_open(struct input *input, const char *path, MPI_Comm comm);
void input_close(struct input *input);

/* Parse the header. 0, or -1 with message. Local, with the same result on all ranks. */
int input_header(struct input *input, int size[DIRECTIONS], long *iseed);

/* Parse the next block. 1, 0 at the end of the input, or -1 with message. There must be a first
 * block, which cannot `continue`. Local, with the same result on all ranks. */
int input_block(struct input *input, struct block *block);
