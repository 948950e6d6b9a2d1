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

/* Sebastiano Vigna's splitmix64. */
unsigned long long sample_mix(unsigned long long one, unsigned long long other) {
    unsigned long long mixed = one + 0x9e3779b97f4a7c15ULL * (other + 1);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
}

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
