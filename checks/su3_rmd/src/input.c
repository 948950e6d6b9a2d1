/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 1 << 20, WORD = INPUT_NAME };

#define LENGTH_MOST 16384
#define COUNT_MOST 1000000000L
#define SEED_MOST 4294967295L

/* ---- reading the text ---- */

/* Rank 0: read the input into input->text; length in bytes, or -1 with message. */
static int read_text(struct input *input, const char *path) {
    int is_stdin = !path || strcmp(path, "-") == 0, length = -1;
    FILE *stream = is_stdin ? stdin : fopen(path, "r");
    if (stream && (input->text = malloc(TEXT_MOST + 2))) {
        size_t count = fread(input->text, 1, TEXT_MOST + 1, stream);
        input->text[count] = '\0';
        length = ferror(stream) ? -1 : (int)count;
    }
    if (length < 0) {
        snprintf(input->message, sizeof input->message, "cannot read the input %.300s: %s",
                 is_stdin ? "(standard input)" : path, strerror(errno));
    } else if (length > TEXT_MOST || strlen(input->text) != (size_t)length) {
        snprintf(input->message, sizeof input->message,
                 "the input %.300s is not a text of at most %d bytes",
                 is_stdin ? "(standard input)" : path, TEXT_MOST);
        length = -1;
    }
    if (stream && !is_stdin)
        fclose(stream);
    return length;
}

int input_open(struct input *input, const char *path, MPI_Comm comm) {
    int rank, length = 0;
    memset(input, 0, sizeof *input);
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        length = read_text(input, path);
    MPI_Bcast(&length, 1, MPI_INT, 0, comm);
    if (length >= 0 && rank != 0)
        input->text = malloc((size_t)length + 1);
    int failed = input->text == NULL || length < 0, any;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, comm);
    if (any)
        return -1;
    MPI_Bcast(input->text, length + 1, MPI_CHAR, 0, comm);
    input->at = input->text;
    input->line = 1;
    return 0;
}

void input_close(struct input *input) {
    free(input->text);
    input->text = NULL;
}

/* ---- words ---- */

static void skip_blanks(struct input *input) {
    for (; *input->at; input->at++) {
        if (*input->at == '#')
            while (input->at[1] && input->at[1] != '\n')
                input->at++;
        else if (*input->at == '\n')
            input->line++;
        else if (!strchr(" \t\r\f\v", *input->at))
            return;
    }
}

/* Copy the next word, truncated to WORD - 1 bytes, into word. Returns its length, 0 at the end of
 * the input. */
static size_t next_word(struct input *input, char word[WORD]) {
    skip_blanks(input);
    size_t length = strcspn(input->at, " \t\r\f\v\n#"), kept = length < WORD ? length : WORD - 1;
    memcpy(word, input->at, kept);
    word[kept] = '\0';
    input->at += length;
    return length;
}

static int wrong(struct input *input, const char *found, const char *allowed) {
    snprintf(input->message, sizeof input->message, "line %d: found %s%.60s%s, allowed is %.300s",
             input->line, *found ? "'" : "the end of the input", found, *found ? "'" : "", allowed);
    return -1;
}

static int expect(struct input *input, const char *keyword) {
    char word[WORD], allowed[WORD + 32];
    next_word(input, word);
    if (strcmp(word, keyword) == 0)
        return 0;
    snprintf(allowed, sizeof allowed, "the keyword `%s` here", keyword);
    return wrong(input, word, allowed);
}

static int read_integer(struct input *input, const char *keyword, long low, long high,
                        long *value) {
    char word[WORD], allowed[WORD + 96], *end;
    if (expect(input, keyword) != 0)
        return -1;
    next_word(input, word);
    errno = 0;
    *value = strtol(word, &end, 10);
    if (!errno && end != word && !*end && *value >= low && *value <= high)
        return 0;
    snprintf(allowed, sizeof allowed, "for %s: an integer from %ld to %ld", keyword, low, high);
    return wrong(input, word, allowed);
}

static int read_real(struct input *input, const char *keyword, double least, double high,
                     double *value) {
    char word[WORD], allowed[WORD + 96], *end;
    if (expect(input, keyword) != 0)
        return -1;
    next_word(input, word);
    *value = strtod(word, &end);
    if (end != word && !*end && isfinite(*value) && *value >= least && *value <= high)
        return 0;
    snprintf(allowed, sizeof allowed, "for %s: a number from %g to %g", keyword, least, high);
    return wrong(input, word, allowed);
}

/* ---- header and blocks ---- */

int input_header(struct input *input, int size[DIRECTIONS], long *iseed) {
    static const char *const names[DIRECTIONS] = {"nx", "ny", "nz", "nt"};
    long value;
    if (read_integer(input, "prompt", 0, 0, &value) != 0)
        return -1;
    for (int d = 0; d < DIRECTIONS; d++) {
        if (read_integer(input, names[d], 1, LENGTH_MOST, &value) != 0)
            return -1;
        size[d] = (int)value;
    }
    return read_integer(input, "iseed", -SEED_MOST, SEED_MOST, iseed);
}

static int has_format(const char *word, const char *prefix) {
    static const char *const formats[] = {"serial", "parallel", "ascii"};
    size_t length = strlen(prefix);
    for (int i = 0; i < 3; i++)
        if (strncmp(word, prefix, length) == 0 && strcmp(word + length, formats[i]) == 0)
            return 1;
    return 0;
}

static int read_name(struct input *input, char name[INPUT_NAME]) {
    size_t length = next_word(input, name);
    if (length > 0 && length < INPUT_NAME)
        return 0;
    return wrong(input, name, "a file name of at most 255 bytes");
}

int input_block(struct input *input, struct block *block) {
    char word[WORD];
    long steps;
    memset(block, 0, sizeof *block);
    skip_blanks(input);
    if (!*input->at && input->block > 0)
        return 0;
    if (read_integer(input, "warms", 0, COUNT_MOST, &block->warms) != 0 ||
        read_integer(input, "trajecs", 0, COUNT_MOST, &block->trajecs) != 0 ||
        read_integer(input, "traj_between_meas", 1, COUNT_MOST, &block->between) != 0 ||
        read_real(input, "beta", 0, 1000, &block->physics.beta) != 0 ||
        read_real(input, "microcanonical_time_step", 1e-9, 1, &block->physics.epsilon) != 0 ||
        read_integer(input, "steps_per_trajectory", 1, 1000000, &steps) != 0)
        return -1;
    block->physics.steps = (int)steps;

    next_word(input, word);
    snprintf(block->start_word, sizeof block->start_word, "%.31s", word);
    if (strcmp(word, "fresh") == 0)
        block->start = START_FRESH;
    else if (strcmp(word, "warm") == 0)
        block->start = START_WARM;
    else if (strcmp(word, "continue") == 0 && input->block > 0)
        block->start = START_CONTINUE;
    else if (has_format(word, "reload_"))
        block->start = START_RELOAD;
    else
        return wrong(input, word,
                     input->block > 0
                         ? "the start `fresh`, `warm`, `continue` or "
                           "`reload_serial|parallel|ascii FILE`"
                         : "the start `fresh`, `warm` or `reload_serial|parallel|ascii FILE` "
                           "(`continue` from the second block on)");
    if (block->start == START_RELOAD && read_name(input, block->from) != 0)
        return -1;

    next_word(input, word);
    snprintf(block->end_word, sizeof block->end_word, "%.31s", word);
    block->save = has_format(word, "save_");
    if (!block->save && strcmp(word, "forget") != 0)
        return wrong(input, word, "the end `forget` or `save_serial|parallel|ascii FILE`");
    if (block->save && read_name(input, block->to) != 0)
        return -1;
    input->block++;
    return 1;
}
