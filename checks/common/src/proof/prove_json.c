/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* fmemopen */
/* JSON lines: escaping, numbers, refusal of what JSON cannot represent. */
#include "assay/json.h"
#include "proof.h"

#include <stdlib.h>
#include <string.h>

static int string_is(const char *value, const char *expected) {
    struct json line;
    char whole[256];
    json_begin(&line);
    json_string(&line, "k", value);
    char *text = json_take(&line);
    snprintf(whole, sizeof whole, "{\"k\":\"%s\"}", expected);
    int same = text && strcmp(text, whole) == 0;
    free(text);
    return same;
}

static int number_is(double value, const char *expected) {
    struct json line;
    json_begin(&line);
    json_number(&line, NULL, value);
    char *text = json_take(&line);
    int same = text ? strncmp(text + 1, expected, strlen(expected)) == 0 : expected[0] == '\0';
    free(text);
    return same;
}

static int nesting_is_right(void) {
    struct json line;
    json_begin(&line);
    json_integer(&line, "a", -1);
    json_open(&line, "b", '[');
    json_boolean(&line, NULL, 1);
    json_open(&line, NULL, '{');
    json_close(&line, '}');
    json_close(&line, ']');
    json_clock(&line, "c", 1763680000.123456);
    char *text = json_take(&line);
    int same = text && strcmp(text, "{\"a\":-1,\"b\":[true,{}],\"c\":1763680000.123456}") == 0;
    free(text);
    return same;
}

static int refused_line_is_not_written(void) {
    struct json line;
    char text[16] = "";
    FILE *stream = fmemopen(text, sizeof text, "w");
    json_begin(&line);
    json_number(&line, "x", NAN);
    int refused = stream && json_write(&line, stream) != 0;
    if (stream)
        fclose(stream);
    return refused && text[0] == '\0';
}

int main(void) {
    proof_true("quote and backslash", string_is("a\"b\\c", "a\\\"b\\\\c"));
    proof_true("control characters", string_is("\n\t\x01\x7f", "\\u000a\\u0009\\u0001\\u007f"));
    proof_true("other bytes stay", string_is("\xc3\xa9\xff(\xe2\x82", "\xc3\xa9\xff(\xe2\x82"));
    proof_true("nine digits", number_is(1.0 / 3, "0.333333333}"));
    proof_true("small number", number_is(6.8e-06, "6.8e-06}"));
    proof_true("not a number refused", number_is(NAN, ""));
    proof_true("infinity refused", number_is(-INFINITY, ""));
    proof_true("nothing of a refused line is written", refused_line_is_not_written());
    proof_true("nesting and commas", nesting_is_right());
    return proof_status();
}
