/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"
#include "sampling.h"

#include <stddef.h>
#include <stdio.h>

/* The output of our programs: JSON lines on standard output, one object a line, each written with
 * one fwrite and flushed. Local; only rank 0 calls these. A number that is not finite ends the run
 * (fail_if). Units are SI: s, bytes, bytes/s. */

/* Write the lines from here on to stream instead. */
void report_to(FILE *stream);

/* {"assay":"program",…}: the first line, with the library's name and every option's value. */
void report_program(const char *name, const struct arg *table, size_t count);

/* One coordinate of a point of a sweep, such as {"operation", "gather", 0} or
 * {"message_bytes", NULL, 1024}: text, or the integer where text is NULL. */
struct report_position {
    const char *key;
    const char *text;
    long long integer;
};

/* {"assay":"metric",…} at `positions` coordinates (at may be NULL if 0), with count samples in the
 * order they were taken (samples may be NULL). */
void report_metric(const char *name, const char *unit, double value,
                   const struct report_position *at, size_t positions, const double *samples,
                   size_t count);

/* report_metric without samples. */
void report_value(const char *name, const char *unit, double value,
                  const struct report_position *at, size_t positions);

/* The metrics half_round_trip (the median, with all samples), _best, _mean and _worst from count
 * round trips, s. samples are halved in place; their summary is returned. */
struct timing_summary report_round_trips(const struct report_position *at, size_t positions,
                                         double *samples, size_t count);

/* The metrics bandwidth, _best, _mean and _worst of messages of so many bytes, from the half round
 * trips in summary; none for 0 bytes. */
void report_bandwidths(const struct report_position *at, size_t positions, long long bytes,
                       struct timing_summary summary);

/* {"assay":"note","key":key,"value":value}: a fact that is not a metric. */
void report_note_text(const char *key, const char *value);
void report_note_integer(const char *key, long long value);
void report_note_number(const char *key, double value);

/* The notes timer and timer_resolution_s. */
void report_timer(const struct timer *timer);

/* {"assay":"note",…} with a JSON text as value; the call consumes fields. */
void report_note_object(const char *key, struct json *fields);

/* {"assay":"end","program":name,"ok":ok}: the last line before MPI_Finalize. */
void report_end(const char *name, int ok);
