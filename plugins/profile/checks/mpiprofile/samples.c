/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

#include <stdlib.h>

enum { CHANNELS = 16384, MOST_CHANNELS = 12000, KEPT = 2048 };

struct samples sampled_messages = {~0ULL >> 1, 0, NULL},
               sampled_collectives = {~0ULL >> 1, 0, NULL};

/* Messages of a channel so far; number 0: free. */
static struct {
    unsigned long long channel, number;
} channels[CHANNELS];
static int channel_count;

long long sample_number(unsigned long long channel) {
    int slot = (int)(channel % CHANNELS);
    while (channels[slot].number && channels[slot].channel != channel)
        slot = (slot + 1) % CHANNELS;
    if (!channels[slot].number) {
        if (channel_count == MOST_CHANNELS)
            return -1;
        channel_count++;
        channels[slot].channel = channel;
    }
    return (long long)channels[slot].number++;
}

/* With twice as many as are to be kept, drop the half with the greater hashes. */
static void halve(struct samples *samples) {
    while (samples->count >= 2 * KEPT) {
        int kept = 0;
        samples->limit /= 2;
        for (int i = 0; i < samples->count; i++)
            if (samples->kept[i].hash <= samples->limit)
                samples->kept[kept++] = samples->kept[i];
        samples->count = kept;
    }
}

void sample_keep(struct samples *samples, const struct sample *sample) {
    if (!samples->kept)
        samples->kept = malloc(2 * KEPT * sizeof *samples->kept);
    if (!samples->kept || sample->hash > samples->limit)
        return;
    samples->kept[samples->count++] = *sample;
    halve(samples);
}
