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

/* Length of the UTF-8 sequence at text, 0 if it is none (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF). */
static size_t utf8_length(const unsigned char *text) {
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0x01, 0x7F, 0x00, 0xFF, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        if (text[0] < forms[form].first_low || text[0] > forms[form].first_high)
            continue;
        size_t length = forms[form].length;
        if (length > 1 && (text[1] < forms[form].second_low || text[1] > forms[form].second_high))
            return 0;
        for (size_t i = 2; i < length; i++)
            if (text[i] < 0x80 || text[i] > 0xBF)
                return 0;
        return length;
    }
    return 0;
}

static void append_escaped(struct json *line, const char *text) {
    const unsigned char *byte = (const unsigned char *)text;
    append(line, "\"", 1);
    while (*byte) {
        size_t length = utf8_length(byte);
        if (length == 0) {
            append_text(line, "\\ufffd");
            length = 1;
        } else if (*byte < 0x20 || *byte == 0x7F) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", *byte);
            append_text(line, escape);
        } else {
            if (*byte == '"' || *byte == '\\')
                append(line, "\\", 1);
            append(line, (const char *)byte, length);
        }
        byte += length;
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
