/* SPDX-License-Identifier: Apache-2.0 */
#include "sampling.h"

#include <float.h>
#include <math.h>

/* More calls in one sample than this mean a body that does nothing. */
#define BATCH_LIMIT 10000

static int batch_for(const struct timer *timer, double least_call_s) {
    double needed = TIMING_LEAST_STEPS * timer->resolution_s;
    if (least_call_s >= needed)
        return 1;
    if (least_call_s * BATCH_LIMIT <= needed)
        return BATCH_LIMIT;
    return (int)ceil(needed / least_call_s);
}

int timing_sample(const struct timer *timer, const struct sampling *s, double *samples) {
    double least = DBL_MAX;
    for (int call = 0; call < s->warmup; call++) {
        double start = timer->now();
        s->body(s->context);
        least = fmin(least, timer->now() - start);
    }
    int batch = batch_for(timer, least);
    s->agree(&batch, s->with);
    s->body(s->context); /* agreeing lets one run ahead; one more call brings them together */
    for (int sample = 0; sample < s->iterations; sample++) {
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
