/* SPDX-License-Identifier: Apache-2.0 */
/* Command line options: right ones are read, wrong ones are refused with a message that names the
 * option, what was found and what is allowed. */
#include "assay/args.h"
#include "proof.h"

#include <string.h>

static long long count;
static double factor;
static const char *text;
static int flag;
static unsigned long set;
static const char *const names[] = {"a/b", "c", NULL};

static const struct arg table[] = {
    {"count", ARG_INTEGER, &count, 1, 10, NULL, ""}, {"factor", ARG_REAL, &factor, 0, 1, NULL, ""},
    {"text", ARG_TEXT, &text, 0, 0, NULL, ""},       {"flag", ARG_FLAG, &flag, 0, 0, NULL, ""},
    {"set", ARG_CHOICES, &set, 0, 0, names, ""},
};

static char message[512];

static enum args_result parse(const char *first, const char *second) {
    char *argv[] = {(char *)"program", (char *)first, (char *)second, NULL};
    message[0] = '\0';
    return args_parse(table, sizeof table / sizeof *table, first ? second ? 3 : 2 : 1, argv,
                      message, sizeof message);
}

static int refused(const char *first, const char *second, const char *found, const char *allowed) {
    return parse(first, second) == ARGS_WRONG && strstr(message, found) && strstr(message, allowed);
}

int main(void) {
    proof_true("no option", parse(NULL, NULL) == ARGS_OK);
    proof_true("help", parse("--help", NULL) == ARGS_HELP);
    proof_true("integer", parse("--count", "7") == ARGS_OK && count == 7);
    proof_true("integer after =", parse("--count=10", NULL) == ARGS_OK && count == 10);
    proof_true("real", parse("--factor", "0.25") == ARGS_OK && factor == 0.25);
    proof_true("text that looks like an option",
               parse("--text", "--count") == ARGS_OK && strcmp(text, "--count") == 0);
    proof_true("flag", parse("--flag", NULL) == ARGS_OK && flag == 1);
    proof_true("choices", parse("--set", "c,a/b") == ARGS_OK && set == 3);
    proof_true("one choice", parse("--set", "c") == ARGS_OK && set == 2);
    proof_true("all choices", parse("--set", "all") == ARGS_OK && set == 3);
    proof_true("integer above its bound", refused("--count", "11", "'11'", "from 1 to 10"));
    proof_true("integer with a tail", refused("--count", "5x", "--count: found '5x'", "integer"));
    proof_true("integer overflow", refused("--count", "99999999999999999999", "9999", "integer"));
    proof_true("real that is no number", refused("--factor", "nan", "'nan'", "from 0 to 1"));
    proof_true("unknown choice", refused("--set", "c,d", "'c,d'", "a/b c"));
    proof_true("empty choice", refused("--set", "", "''", "a/b c"));
    proof_true("flag with a value", refused("--flag=1", NULL, "--flag", "no value"));
    proof_true("value missing", refused("--count", NULL, "--count", "a value"));
    proof_true("unknown option", refused("--cuont", "1", "'--cuont'", "--count"));
    proof_true("word without dashes", refused("7", NULL, "'7'", "--help"));
    proof_true("prefix of an option", refused("--cou", "1", "'--cou'", "--count"));
    return proof_status();
}
