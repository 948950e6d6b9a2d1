/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void append(struct json *line, const char *text, size_t length) {
    if (line->used + length + 1 > line->room) {
        size_t room = 2 * (line->used + length + 1);
        char *larger = realloc(line->text, room);
        if (!larger) {
            line->refused = "out of memory";
            return;
        }
        line->text = larger;
        line->room = room;
    }
    memcpy(line->text + line->used, text, length);
    line->used += length;
    line->text[line->used] = '\0';
}

static void append_text(struct json *line, const char *text) { append(line, text, strlen(text)); }

static void append_escaped(struct json *line, const char *text) {
    append(line, "\"", 1);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7F) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", byte);
            append_text(line, escape);
            continue;
        }
        if (byte == '"' || byte == '\\')
            append(line, "\\", 1);
        append(line, text, 1);
    }
    append(line, "\"", 1);
}

static void member(struct json *line, const char *key) {
    if (line->comma)
        append(line, ",", 1);
    line->comma = 1;
    if (key) {
        append_escaped(line, key);
        append(line, ":", 1);
    }
}

void json_begin(struct json *line) {
    memset(line, 0, sizeof *line);
    append(line, "{", 1);
}

void json_begin_line(struct json *line, const char *kind) {
    const char *token = getenv("ASSAY_TOKEN");
    json_begin(line);
    json_string(line, "assay", kind);
    if (token && *token)
        json_string(line, "token", token);
}

void json_string(struct json *line, const char *key, const char *value) {
    member(line, key);
    append_escaped(line, value);
}

void json_integer(struct json *line, const char *key, long long value) {
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", value);
    json_raw(line, key, digits);
}

static void formatted(struct json *line, const char *key, const char *format, double value) {
    char digits[512];
    if (!isfinite(value)) {
        line->refused = "a number is not finite";
        return;
    }
    snprintf(digits, sizeof digits, format, value);
    json_raw(line, key, digits);
}

void json_number(struct json *line, const char *key, double value) {
    formatted(line, key, "%.9g", value);
}

void json_clock(struct json *line, const char *key, double seconds) {
    formatted(line, key, "%.6f", seconds);
}

void json_boolean(struct json *line, const char *key, int value) {
    json_raw(line, key, value ? "true" : "false");
}

void json_raw(struct json *line, const char *key, const char *value) {
    member(line, key);
    append_text(line, value);
}

void json_open(struct json *line, const char *key, char bracket) {
    member(line, key);
    append(line, &bracket, 1);
    line->comma = 0;
}

void json_close(struct json *line, char bracket) {
    append(line, &bracket, 1);
    line->comma = 1;
}

char *json_take(struct json *line) {
    append(line, "}", 1);
    char *text = line->text;
    if (line->refused) {
        free(text);
        text = NULL;
    }
    memset(line, 0, sizeof *line);
    return text;
}

int json_write(struct json *line, FILE *stream) {
    append(line, "}\n", 2);
    int failed = line->refused != NULL;
    if (!failed)
        failed = fwrite(line->text, 1, line->used, stream) != line->used || fflush(stream) != 0;
    free(line->text);
    memset(line, 0, sizeof *line);
    return failed ? -1 : 0;
}
