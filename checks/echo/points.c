/* SPDX-License-Identifier: Apache-2.0 */
#include "points.h"

#include "assay/fail.h"
#include "assay/report.h"

#include <stdlib.h>
#include <string.h>

struct echo_settings echo_settings = {"0,log:1:4194304:2,1000000", 100, 10, 1, 0};

void points_prepare(struct points *points, const char *program) {
    char message[256];
    int wrong = sizes_parse(echo_settings.sizes, &points->sizes, message, sizeof message);
    fail_all(wrong, program, "option --%s", wrong ? message : "");
    size_t room = (size_t)points->sizes.bytes[points->sizes.count - 1] + 1;
    points->outgoing = malloc(room);
    points->incoming = malloc(room);
    points->samples = calloc((size_t)echo_settings.iterations, sizeof *points->samples);
    fail_if(!points->outgoing || !points->incoming || !points->samples, program,
            "out of memory: two buffers of %zu bytes", room);
    memset(points->outgoing, 0, room); /* touched: no page fault inside a timed interval */
    memset(points->incoming, 0, room);
}

static void report_rates(const struct report_position *at, struct timing_summary t, double loop_s) {
    double bytes = (double)at->integer;
    report_metric_at("bandwidth", "bytes/s", bytes / t.median, at, 1, NULL, 0);
    report_metric_at("bandwidth_best", "bytes/s", bytes / t.best, at, 1, NULL, 0);
    report_metric_at("bandwidth_loop", "bytes/s", bytes / loop_s, at, 1, NULL, 0);
}

void points_report(struct points *points, long long bytes, double loop_s) {
    struct report_position at = {"message_bytes", NULL, bytes};
    size_t count = (size_t)echo_settings.iterations;
    for (size_t i = 0; i < count; i++)
        points->samples[i] *= 0.5;
    struct timing_summary t = timing_summarise(points->samples, (int)count);
    report_metric_at("half_round_trip", "s", t.median, &at, 1, points->samples, count);
    report_metric_at("half_round_trip_best", "s", t.best, &at, 1, NULL, 0);
    report_metric_at("half_round_trip_mean", "s", t.mean, &at, 1, NULL, 0);
    report_metric_at("half_round_trip_worst", "s", t.worst, &at, 1, NULL, 0);
    report_metric_at("half_round_trip_loop", "s", 0.5 * loop_s, &at, 1, NULL, 0);
    if (bytes > 0) {
        report_rates(&at, t, 0.5 * loop_s);
    } else {
        report_metric("echo_latency", "s", t.median, NULL, NULL, 0);
        report_metric("echo_latency_least", "s", t.best, NULL, NULL, 0);
    }
}

void points_notes(const struct timer *timer) {
    report_timer(timer);
    report_note_text("buffers", "reused");
    report_note_text("payload_verified", "every reply, and every byte once a size");
}

void points_release(struct points *points) {
    sizes_free(&points->sizes);
    free(points->outgoing);
    free(points->incoming);
    free(points->samples);
}
