/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "json.h"

#include <stddef.h>

/* Command line options, described and validated by a table. `--name value` and `--name=value` are
 * equivalent; every program has `--help`. Local unless stated: each rank parses its own argv. */

enum arg_kind {
    ARG_INTEGER, /* value: long long *, bounds low … high */
    ARG_REAL,    /* value: double *, bounds low … high, finite */
    ARG_TEXT,    /* value: const char **, points into argv */
    ARG_FLAG,    /* value: int *, 1 if present; takes no value */
    ARG_CHOICES  /* value: unsigned long *, bit i for choices[i]; comma list or `all` */
};

struct arg {
    const char *name; /* without the two dashes */
    enum arg_kind kind;
    void *value; /* holds the default before args_parse */
    double low, high;
    const char *const *choices; /* NULL-ended, at most as many as unsigned long has bits */
    const char *help;           /* meaning, unit, default */
};

/* Options that several programs have. */
#define ARG_SIZES_HELP                                                                             \
    "message sizes in bytes: N, FIRST:LAST:STEP, log:FIRST:LAST:PER_OCTAVE, joined by commas"
#define ARG_SIZES(value) {"sizes", ARG_TEXT, value, 0, 0, NULL, ARG_SIZES_HELP}
#define ARG_ITERATIONS(value, help) {"iterations", ARG_INTEGER, value, 1, 1000000, NULL, help}
#define ARG_WARMUP(value, help) {"warmup", ARG_INTEGER, value, 1, 1000000, NULL, help}
#define ARG_SEED(value, of)                                                                        \
    {"seed", ARG_INTEGER, value, 0, 9007199254740991.0, NULL, "seed of " of " (default 1)"}
#define ARG_FAULT(value, fault) {"inject-fault", ARG_FLAG, value, 0, 0, NULL, fault}

enum args_result { ARGS_OK, ARGS_HELP, ARGS_WRONG };

/* Parse argv[1…argc-1] by the table of count options. ARGS_WRONG: message (size bytes) names the
 * option, what was found and what is allowed; values may be partly set. */
enum args_result args_parse(const struct arg *table, size_t count, int argc, char **argv,
                            char *message, size_t size);

/* Print usage on stdout: the purpose of the program on one line, then one line an option. */
void args_help(const char *program, const char *purpose, const struct arg *table, size_t count);

/* Add the member "settings" with every option's value to line. */
void args_echo(struct json *line, const struct arg *table, size_t count);

/* For MPI programs, collective, MPI must be up: parse. On --help rank 0 prints usage and all ranks
 * exit with status 0 after MPI_Finalize; a wrong option ends the run (fail_all). */
void args_read(const char *program, const char *purpose, const struct arg *table, size_t count,
               int argc, char **argv);

/* The same for a process without MPI. */
void args_read_alone(const char *program, const char *purpose, const struct arg *table,
                     size_t count, int argc, char **argv);
