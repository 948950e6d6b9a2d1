/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include "assay/clock.h"

#include <stdatomic.h>
#include <stdlib.h>

#define PROFILE_TEXT(name) #name,
const char *const profile_names[PROFILE_ALL_COUNT] = {PROFILE_CALLS(PROFILE_TEXT)
                                                          PROFILE_LATER_CALLS(PROFILE_TEXT)};
#undef PROFILE_TEXT

/* Entries of a call: without a peer, then for each rank; allocated at first use. */
static struct profile_entry *entries[PROFILE_CALL_COUNT];
static int world_ranks;
static double first_s = -1;
static _Thread_local int depth;
static atomic_flag busy = ATOMIC_FLAG_INIT;

void profile_lock(void) {
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        continue;
}
void profile_unlock(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }

/* Does nothing when out of memory: that must not end the profiled program. */
static void add(enum profile_call call, int peer, long long bytes, double seconds) {
    profile_lock();
    if (world_ranks == 0)
        PMPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    if (!entries[call])
        entries[call] = calloc((size_t)world_ranks + 1, sizeof *entries[call]);
    if (entries[call]) {
        struct profile_entry *entry = &entries[call][peer + 1];
        int class = 0;
        entry->count++;
        entry->time_s += seconds;
        if (seconds > entry->greatest_s)
            entry->greatest_s = seconds;
        for (long long limit = 0; bytes > limit && class < PROFILE_SIZES - 1; class ++)
            limit = limit ? 2 * limit : 1;
        if (bytes >= 0) {
            entry->bytes += bytes;
            entry->sizes[class]++;
        }
    }
    profile_unlock();
}

double profile_begin(void) {
    if (depth++ > 0)
        return -1;
    double start = timing_monotonic();
    if (first_s < 0)
        first_s = start;
    return start;
}

void profile_leave(void) { depth--; }

void profile_count(enum profile_call call, int peer, long long bytes, double begun, double ended) {
#ifdef LAM_MPI
    static int
        calls; /* LAM's MPI_Init ends with a public MPI_Barrier, which is not the program's */
    if (calls++ == 0 && call == PROFILE_Barrier)
        return;
#endif
    if (call < PROFILE_CALL_COUNT)
        add(call, peer, bytes, ended - begun);
}

void profile_share(enum profile_call call, int peer, long long bytes) { add(call, peer, bytes, 0); }

const struct profile_entry *profile_entry(enum profile_call call, int peer) {
    struct profile_entry *entry = entries[call] ? &entries[call][peer + 1] : NULL;
    return entry && entry->count ? entry : NULL;
}

double profile_elapsed(void) { return first_s < 0 ? 0 : timing_monotonic() - first_s; }

long long profile_bytes(int count, MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) /* an argument that is not significant here */
        return 0;
#if MPI_VERSION >= 3
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size); /* of 2 GiB and more, too */
#else
    int size = 0;
    PMPI_Type_size(type, &size);
#endif
    return (long long)count * size;
}
