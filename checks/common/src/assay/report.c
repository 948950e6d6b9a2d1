/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "fail.h"
#include "library.h"

#include <stdlib.h>

static FILE *output; /* NULL: standard output */

void report_to(FILE *stream) { output = stream; }

static void write_line(struct json *line, const char *what) {
    fail_if(json_write(line, output ? output : stdout) != 0, "report", "line '%s' not written: %s",
            what, "a value in it is not finite, or its stream cannot be written");
}

void report_program(const char *name, const struct arg *table, size_t count) {
    char library[LIBRARY_TEXT];
    struct json line;
    library_name(library, sizeof library);
    json_begin_line(&line, "program");
    json_string(&line, "name", name);
    json_string(&line, "mpi", library);
    args_echo(&line, table, count);
    write_line(&line, "program");
}

void report_metric(const char *name, const char *unit, double value,
                   const struct report_position *at, size_t positions, const double *samples,
                   size_t count) {
    struct json line;
    json_begin_line(&line, "metric");
    json_string(&line, "name", name);
    json_string(&line, "unit", unit);
    json_number(&line, "value", value);
    if (positions) {
        json_open(&line, "at", '{');
        for (size_t i = 0; i < positions; i++)
            if (at[i].text)
                json_string(&line, at[i].key, at[i].text);
            else
                json_integer(&line, at[i].key, at[i].integer);
        json_close(&line, '}');
    }
    if (samples) {
        json_open(&line, "samples", '[');
        for (size_t i = 0; i < count; i++)
            json_number(&line, NULL, samples[i]);
        json_close(&line, ']');
    }
    write_line(&line, name);
}

void report_value(const char *name, const char *unit, double value,
                  const struct report_position *at, size_t positions) {
    report_metric(name, unit, value, at, positions, NULL, 0);
}

struct timing_summary report_round_trips(const struct report_position *at, size_t positions,
                                         double *samples, size_t count) {
    for (size_t i = 0; i < count; i++)
        samples[i] *= 0.5;
    struct timing_summary t = timing_summarise(samples, (int)count);
    report_metric("half_round_trip", "s", t.median, at, positions, samples, count);
    report_value("half_round_trip_best", "s", t.best, at, positions);
    report_value("half_round_trip_mean", "s", t.mean, at, positions);
    report_value("half_round_trip_worst", "s", t.worst, at, positions);
    return t;
}

void report_bandwidths(const struct report_position *at, size_t positions, long long bytes,
                       struct timing_summary t) {
    if (bytes == 0)
        return;
    report_value("bandwidth", "bytes/s", (double)bytes / t.median, at, positions);
    report_value("bandwidth_best", "bytes/s", (double)bytes / t.best, at, positions);
    report_value("bandwidth_mean", "bytes/s", (double)bytes / t.mean, at, positions);
    report_value("bandwidth_worst", "bytes/s", (double)bytes / t.worst, at, positions);
}

static void begin_note(struct json *line, const char *key) {
    json_begin_line(line, "note");
    json_string(line, "key", key);
}

void report_note_text(const char *key, const char *value) {
    struct json line;
    begin_note(&line, key);
    json_string(&line, "value", value);
    write_line(&line, key);
}

void report_note_integer(const char *key, long long value) {
    struct json line;
    begin_note(&line, key);
    json_integer(&line, "value", value);
    write_line(&line, key);
}

void report_note_number(const char *key, double value) {
    struct json line;
    begin_note(&line, key);
    json_number(&line, "value", value);
    write_line(&line, key);
}

void report_note_object(const char *key, struct json *fields) {
    struct json line;
    char *text = json_take(fields);
    fail_if(!text, "report", "note '%s' not written: a value in it is not finite", key);
    begin_note(&line, key);
    json_raw(&line, "value", text);
    free(text);
    write_line(&line, key);
}

void report_end(const char *name, int ok) {
    struct json line;
    json_begin_line(&line, "end");
    json_string(&line, "program", name);
    json_boolean(&line, "ok", ok);
    write_line(&line, "end");
}

void report_timer(const struct timer *timer) {
    report_note_text("timer", timer->name);
    report_note_number("timer_resolution_s", timer->resolution_s);
}
