/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* One JSON object on one line, built in memory and written at once, so that lines of ranks that
 * share a pipe do not interleave. Local; a struct json belongs to one thread. Strings are escaped;
 * bytes that are not UTF-8 stay, and readers replace them. A number that is not finite, or a lack
 * of memory, marks the line as refused: nothing of it is written. */

struct json {
    char *text;          /* the line so far, owned */
    size_t used, room;   /* bytes */
    int comma;           /* the next member needs a comma first */
    const char *refused; /* why the line may not be written, or NULL */
};

/* Begin the object; json_take or json_write ends it. */
void json_begin(struct json *line);

/* Begin a line of our output: {"assay":kind, and in a launch of the harness the token ASSAY_TOKEN
 * by which it tells our lines from a program's text. */
void json_begin_line(struct json *line, const char *kind);

/* Add a member; key NULL inside an array. Numbers are written with %.9g. */
void json_string(struct json *line, const char *key, const char *value);
void json_integer(struct json *line, const char *key, long long value);
void json_number(struct json *line, const char *key, double value);
/* Written with six decimals: seconds of CLOCK_REALTIME need more digits than %.9g has. */
void json_clock(struct json *line, const char *key, double seconds);
void json_boolean(struct json *line, const char *key, int value);
/* value is JSON text. */
void json_raw(struct json *line, const char *key, const char *value);

/* bracket: '{' or '[' to open, '}' or ']' to close. */
void json_open(struct json *line, const char *key, char bracket);
void json_close(struct json *line, char bracket);

/* Close the object and return its text without a newline; the caller frees it. NULL if refused. The
 * line is empty afterwards. */
char *json_take(struct json *line);

/* Close the object, write it and a newline with one fwrite, and flush. 0, or -1 if it was refused
 * or the stream failed. Frees the line. */
int json_write(struct json *line, FILE *stream);
