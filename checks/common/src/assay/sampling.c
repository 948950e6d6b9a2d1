/* SPDX-License-Identifier: Apache-2.0 */
#include "sampling.h"

#include "buffer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most calls in one sample; a body that would need more does nothing. */
#define BATCH_LIMIT 10000

int timing_sample(const struct timer *timer, const struct sampling *s, double *samples) {
    double least = DBL_MAX;
    for (int call = 0; call < s->warmup; call++) {
        double start = timer->now();
        s->body(s->context);
        least = fmin(least, timer->now() - start);
    }
    double needed = TIMING_LEAST_STEPS * timer->resolution_s;
    int batch = least >= needed                 ? 1
                : least * BATCH_LIMIT <= needed ? BATCH_LIMIT
                                                : (int)ceil(needed / least);
    s->agree(&batch, s->with);
    s->body(s->context); /* after agree one process may be ahead: synchronise */
    for (int sample = 0; sample < s->iterations; sample++) {
        if (s->before)
            s->before(s->context);
        double start = timer->now();
        for (int call = 0; call < batch; call++)
            s->body(s->context);
        samples[sample] = (timer->now() - start) / batch;
    }
    return batch;
}

double timing_loop(const struct timer *timer, long long calls, void (*body)(void *context),
                   void *context) {
    double start = timer->now();
    for (long long call = 0; call < calls; call++)
        body(context);
    return (timer->now() - start) / (double)calls;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct timing_summary timing_summarise(const double *samples, int count) {
    double *sorted = buffer_make((size_t)count, sizeof *sorted), sum = 0;
    memcpy(sorted, samples, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    for (int i = 0; i < count; i++)
        sum += sorted[i];
    struct timing_summary summary = {sorted[0], 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]),
                                     sum / count, sorted[count - 1]};
    free(sorted);
    return summary;
}
