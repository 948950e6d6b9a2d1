/* SPDX-License-Identifier: Apache-2.0 */
#include "points.h"

#include "assay/buffer.h"
#include "assay/report.h"

struct echo_settings echo_settings = {"0,log:1:4194304:2,1000000", 100, 10, 1, 0};

void points_prepare(struct points *points, const char *program) {
    sizes_read(&points->sizes, echo_settings.sizes, program);
    size_t greatest = (size_t)points->sizes.bytes[points->sizes.count - 1];
    points->outgoing = buffer_make(greatest, 1);
    points->incoming = buffer_make(greatest, 1);
    points->samples = buffer_make((size_t)echo_settings.iterations, sizeof *points->samples);
}

void points_report(struct points *points, long long message_bytes, double loop_s) {
    struct report_position at = {"message_bytes", NULL, message_bytes};
    double bytes = (double)message_bytes;
    struct timing_summary t =
        report_round_trips(&at, 1, points->samples, (size_t)echo_settings.iterations);
    report_value("half_round_trip_loop", "s", 0.5 * loop_s, &at, 1);
    if (message_bytes > 0) {
        report_value("bandwidth", "bytes/s", bytes / t.median, &at, 1);
        report_value("bandwidth_best", "bytes/s", bytes / t.best, &at, 1);
        report_value("bandwidth_loop", "bytes/s", bytes / (0.5 * loop_s), &at, 1);
    } else {
        report_value("echo_latency", "s", t.median, NULL, 0);
        report_value("echo_latency_least", "s", t.best, NULL, 0);
    }
}

void points_notes(void) {
    report_note_text("buffers", "reused");
    report_note_text("payload_verified", "every reply, and every byte once a size");
}
