/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/args.h"
#include "assay/clock.h"

/* What the programs of two ends share that measure over sockets, without MPI. The end without
 * --host listens and asks; the other one answers. */

struct ends {
    const char *host; /* of the listening end; NULL: this is it */
    long long port;
};
extern struct ends ends;

#define ENDS_OPTIONS                                                                               \
    {"host",                                                                                       \
     ARG_TEXT,                                                                                     \
     &ends.host,                                                                                   \
     0,                                                                                            \
     0,                                                                                            \
     NULL,                                                                                         \
     "host of the listening end; without it this is the listening end, which asks"},               \
        {"port", ARG_INTEGER, &ends.port, 1, 65535, NULL, "TCP port of the listening end"}

/* 1 at the asking end. */
int ends_ask(void);

/* The TCP connection to the other end; a port that was not given ends the run (fail_if). */
int ends_connect(const char *program);

/* Tell the other end the batch; agree of a struct sampling, with a pointer to the connection. */
void ends_agree(int *batch, void *connection);

/* The asking end: notes of the timer and of both ends' addresses, and the last line. */
void ends_report(const char *program, const struct timer *timer, int connection);
