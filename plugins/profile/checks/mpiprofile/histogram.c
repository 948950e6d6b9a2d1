/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of bounded size, with open addressing. Level 0 has exact sizes; level 1 merges sizes
 * up to a power of two, level 2 communicators likewise, level 3 all communicators of a call. No
 * count is lost: level 3 has at most 65 entries a call, which is less than MOST. */
#include "recording.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16384, MOST_EXACT = 512, MOST = 8000, RECENT = 256 };
_Static_assert(65 * PROFILE_ALL_COUNT <= MOST, "level 3 must have room for every call");

static struct histogram_entry slots[SLOTS];
static short order[MOST + 1]; /* slots in use, in the order of their first use */
static short taken[SLOTS];    /* place in order, from 1; 0: free */
static int used;
/* Entries of recent keys, by a cheap hash; entry NULL: free. */
static struct {
    struct histogram_key key;
    struct histogram_entry *entry;
} recent[RECENT];
int histogram_level;

static long long power_above(long long value) {
    long long limit = value > 0;
    while (limit < value && limit < 1LL << 62)
        limit *= 2;
    return limit;
}

static struct histogram_key merged(struct histogram_key key) {
    if (histogram_level >= 1)
        key.bytes = power_above(key.bytes);
    if (histogram_level == 2) {
        key.ranks = (int)power_above(key.ranks);
        key.nodes = (int)power_above(key.nodes);
    } else if (histogram_level >= 3)
        key.ranks = key.nodes = 0;
    return key;
}

static int same(const struct histogram_key *one, const struct histogram_key *other) {
    return one->bytes == other->bytes && one->call == other->call && one->ranks == other->ranks &&
           one->nodes == other->nodes;
}

static int slot_of(struct histogram_key key) {
    unsigned long long shape = ((unsigned long long)(unsigned)key.ranks << 32) ^
                               ((unsigned)key.nodes << 8) ^ (unsigned)key.call;
    int slot = (int)(sample_mix((unsigned long long)key.bytes, shape) % SLOTS);
    while (taken[slot] && !same(&slots[slot].key, &key))
        slot = (slot + 1) % SLOTS;
    return slot;
}

static int claim(struct histogram_key key) {
    int slot = slot_of(key);
    if (!taken[slot]) {
        slots[slot] = (struct histogram_entry){.key = key, .least = -1};
        order[used++] = (short)slot;
        taken[slot] = (short)used;
    }
    return slot;
}

/* Merge the entries of the level before. 0 if out of memory. */
static int merge_all(void) {
    int before = used;
    struct histogram_entry *old = malloc((size_t)before * sizeof *old);
    if (!old)
        return 0;
    for (int i = 0; i < before; i++)
        old[i] = slots[order[i]];
    memset(taken, 0, sizeof taken);
    memset(recent, 0, sizeof recent);
    used = 0;
    for (int i = 0; i < before; i++) {
        struct histogram_entry *entry = &slots[claim(merged(old[i].key))];
        if (entry->least < 0 || (old[i].least >= 0 && old[i].least < entry->least))
            entry->least = old[i].least;
        if (old[i].greatest > entry->greatest)
            entry->greatest = old[i].greatest;
        entry->bytes += old[i].bytes;
        entry->count += old[i].count;
        entry->time_s += old[i].time_s;
        entry->completing_s += old[i].completing_s;
        entry->outside_s += old[i].outside_s;
    }
    free(old);
    return 1;
}

static struct histogram_entry *find(struct histogram_key key) {
    int slot = slot_of(merged(key));
    if (taken[slot])
        return &slots[slot];
    while (histogram_level < 3 && used >= (histogram_level ? MOST : MOST_EXACT)) {
        histogram_level++;
        if (!merge_all()) /* no room to merge: the table is full enough to go on */
            break;
    }
    return &slots[claim(merged(key))];
}

struct histogram_entry *histogram_entry(struct histogram_key key) {
    unsigned place =
        (unsigned)(key.bytes ^ (key.bytes >> 8) ^ (key.ranks << 3) ^ (key.nodes << 6)) +
        7U * (unsigned)key.call;
    place %= RECENT;
    if (!recent[place].entry || !same(&recent[place].key, &key)) {
        recent[place].entry = find(key);
        recent[place].key = key;
    }
    return recent[place].entry;
}

int histogram_count(void) { return used; }
const struct histogram_entry *histogram_at(int index) { return &slots[order[index]]; }

int histogram_index(struct histogram_key key) { return taken[slot_of(merged(key))] - 1; }
