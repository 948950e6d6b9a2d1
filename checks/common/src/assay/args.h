/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_ARGS_H
#define ASSAY_ARGS_H

#include "json.h"

#include <stddef.h>

/* Command line options, described by a table and checked by it. Both `--name value` and
 * `--name=value` are read; `--help` is always there. Not collective: every rank parses its own
 * argument vector. */

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
#define ARG_SIZES(value)                                                                           \
    {"sizes",                                                                                      \
     ARG_TEXT,                                                                                     \
     value,                                                                                        \
     0,                                                                                            \
     0,                                                                                            \
     NULL,                                                                                         \
     "message sizes in bytes: N, FIRST:LAST:STEP, log:FIRST:LAST:PER_OCTAVE, joined by commas"}
#define ARG_SEED(value, of)                                                                        \
    {"seed", ARG_INTEGER, value, 0, 9007199254740991.0, NULL, "seed of " of " (default 1)"}

enum args_result { ARGS_OK, ARGS_HELP, ARGS_WRONG };

/* Parse argv[1…argc-1] by the table of count options. ARGS_WRONG: message (size bytes) names the
 * option, what was found and what is allowed; the values may be half set. */
enum args_result args_parse(const struct arg *table, size_t count, int argc, char **argv,
                            char *message, size_t size);

/* Print usage on stdout: one line what the program does, then an option a line. */
void args_help(const char *program, const char *purpose, const struct arg *table, size_t count);

/* Add the member "settings" with every option's value to line. */
void args_echo(struct json *line, const struct arg *table, size_t count);

/* For main programs, collective: parse; on --help rank 0 prints the usage and all ranks leave with
 * status 0 through MPI_Finalize; on a wrong option fail_all. MPI must be up. */
void args_read(const char *program, const char *purpose, const struct arg *table, size_t count,
               int argc, char **argv);

#endif
