/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_REPORT_H
#define ASSAY_REPORT_H

#include "args.h"
#include "clock.h"

#include <stddef.h>

/* What our programs print: JSON lines on standard output, one object a line, written with one
 * fwrite and flushed. Only rank 0 calls these; none is collective. A number that is not finite
 * ends the run through fail_if. Units are SI: s, bytes, bytes/s. */

/* {"assay":"program",…}: the first line, with the library's name and every option's value. */
void report_program(const char *name, const struct arg *table, size_t count);

/* Where in a sweep a metric belongs. */
struct report_at {
    const char *construct;
    long long message_bytes;
};

/* {"assay":"metric",…}. at may be NULL; samples (count of them, in the order they were taken) may
 * be NULL. */
void report_metric(const char *name, const char *unit, double value, const struct report_at *at,
                   const double *samples, size_t count);

/* One coordinate of a point of a sweep, such as {"operation", "gather", 0} or
 * {"message_bytes", NULL, 1024}: text, or the integer where text is NULL. */
struct report_position {
    const char *key;
    const char *text;
    long long integer;
};

/* report_metric at `positions` coordinates of any names; at may be NULL when there are none. */
void report_metric_at(const char *name, const char *unit, double value,
                      const struct report_position *at, size_t positions, const double *samples,
                      size_t count);

/* {"assay":"note","key":key,"value":value}: a fact that is no metric. */
void report_note_text(const char *key, const char *value);
void report_note_integer(const char *key, long long value);
void report_note_number(const char *key, double value);

/* The notes timer and timer_resolution_s. */
void report_timer(const struct timer *timer);

/* {"assay":"note",…} with a JSON text as value; fields is consumed by the call. */
void report_note_object(const char *key, struct json *fields);

/* {"assay":"end","program":name,"ok":ok}: the last line before MPI_Finalize. */
void report_end(const char *name, int ok);

#endif
