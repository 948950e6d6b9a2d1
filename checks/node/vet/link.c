/* SPDX-License-Identifier: Apache-2.0 */
/* The link to a neighbour: windows of messages over one TCP connection, first to the listening end,
 * then from it. The caller measures both, and a last word of one byte ends each window. */
#include "vet.h"

#include "assay/buffer.h"
#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/payload.h"
#include "assay/report.h"
#include "assay/sampling.h"
#include "sockets/connection.h"
#include "sockets/ends.h"

#include <stdlib.h>

#define MESSAGE 65536
#define WINDOW 16
#define MOST 1024 /* windows */

/* What the caller asks for next. */
enum request { TAKE = 't', GIVE = 'g', END = 'e' };

static void give(int to, unsigned char *message, uint64_t *counter) {
    for (int i = 0; i < WINDOW; i++) {
        payload_put(message, MESSAGE, ++*counter);
        connection_send(to, message, MESSAGE);
    }
}

static void take(int from, unsigned char *message, uint64_t *counter) {
    for (int i = 0; i < WINDOW; i++) {
        connection_receive(from, message, MESSAGE);
        ++*counter;
        fail_answer(!payload_carries(message, MESSAGE, *counter), "link",
                    "message %llu is not the one sent", (unsigned long long)*counter);
    }
}

static void answer_caller(int caller, unsigned char *message) {
    uint64_t counter = 0;
    char asked = END, done = 0;
    for (connection_receive(caller, &asked, 1); asked != END;
         connection_receive(caller, &asked, 1)) {
        if (asked == TAKE)
            take(caller, message, &counter);
        else
            give(caller, message, &counter);
        connection_send(caller, &done, 1);
    }
}

/* One way, for so many seconds after a window that does not count. */
static void measure_way(int other, enum request request, const char *metric, double seconds,
                        unsigned char *message, uint64_t *counter) {
    double samples[MOST], start = 0;
    int count = -1;
    for (; count < 3 || (count < MOST && timing_monotonic() - start < seconds); count++) {
        char asked = (char)request, done;
        double begun = timing_monotonic();
        start = count < 0 ? begun : start;
        connection_send(other, &asked, 1);
        if (request == TAKE)
            give(other, message, counter);
        else
            take(other, message, counter);
        connection_receive(other, &done, 1);
        if (count >= 0)
            samples[count] = WINDOW * (double)MESSAGE / (timing_monotonic() - begun);
    }
    report_metric(metric, "bytes/s", timing_summarise(samples, count).median, NULL, 0, samples,
                  (size_t)count);
}

void link_run(double seconds) {
    unsigned char *message = buffer_make(MESSAGE, 1);
    int other = ends_connect("link");
    if (ends_ask()) {
        answer_caller(other, message);
    } else {
        char end = END;
        uint64_t counter = 0;
        measure_way(other, TAKE, "link_out", seconds / 2, message, &counter);
        measure_way(other, GIVE, "link_in", seconds / 2, message, &counter);
        connection_send(other, &end, 1);
    }
    free(message);
}
