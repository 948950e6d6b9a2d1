/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include "assay/clock.h"

#include <stdatomic.h>
#include <stdlib.h>

#define PROFILE_TEXT(name) #name,
const char *const profile_names[PROFILE_CALL_COUNT] = {PROFILE_CALLS(PROFILE_TEXT)};
#undef PROFILE_TEXT

/* Entries of a call: without a peer, then for each rank; allocated at first use. */
static struct profile_entry *entries[PROFILE_CALL_COUNT];
static int world_ranks;
static int keyval = MPI_KEYVAL_INVALID;
static double first_s = -1;
static _Thread_local int depth;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void lock(void) {
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        continue;
}
static void unlock(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }

/* Does nothing when out of memory: that must not end the profiled program. */
static void add(enum profile_call call, int peer, long long bytes, double seconds) {
    lock();
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
    unlock();
}

double profile_begin(void) {
    if (depth++ > 0)
        return -1;
    double start = timing_monotonic();
    if (first_s < 0)
        first_s = start;
    return start;
}

void profile_end(enum profile_call call, int peer, long long bytes, double begun, double ended) {
    depth--;
    if (begun < 0)
        return;
#ifdef LAM_MPI
    static int
        calls; /* LAM's MPI_Init ends with a public MPI_Barrier, which is not the program's */
    if (calls++ == 0 && call == PROFILE_Barrier)
        return;
#endif
    add(call, peer, bytes, ended - begun);
}

void profile_share(enum profile_call call, int peer, long long bytes) {
    if (depth == 0)
        add(call, peer, bytes, 0);
}

const struct profile_entry *profile_entry(enum profile_call call, int peer) {
    struct profile_entry *entry = entries[call] ? &entries[call][peer + 1] : NULL;
    return entry && entry->count ? entry : NULL;
}

double profile_elapsed(void) { return first_s < 0 ? 0 : timing_monotonic() - first_s; }

long long profile_bytes(int count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return (long long)count * size;
}

/* ---- ranks of communicators ---- */

#if MPI_VERSION >= 2
#define KEYVAL_CREATE(destroy, key)                                                                \
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy, key, NULL)
#define ATTRIBUTE_GET PMPI_Comm_get_attr
#define ATTRIBUTE_PUT PMPI_Comm_set_attr
#else
#define KEYVAL_CREATE(destroy, key) PMPI_Keyval_create(MPI_NULL_COPY_FN, destroy, key, NULL)
#define ATTRIBUTE_GET PMPI_Attr_get
#define ATTRIBUTE_PUT PMPI_Attr_put
#endif

static int ranks_free(MPI_Comm comm, int key, void *ranks, void *extra) {
    (void)comm;
    (void)key;
    (void)extra;
    free(ranks);
    return MPI_SUCCESS;
}

/* World ranks of comm's ranks; NULL if out of memory. An attribute of the communicator, so that it
 * is freed with it. */
static const int *ranks_of(MPI_Comm comm) {
    MPI_Group group, world;
    int found = 0, size, *ranks = NULL;
    if (keyval == MPI_KEYVAL_INVALID)
        KEYVAL_CREATE(ranks_free, &keyval);
    ATTRIBUTE_GET(comm, keyval, &ranks, &found);
    if (found)
        return ranks;
    PMPI_Comm_size(comm, &size);
    int *own = malloc((size_t)size * sizeof *own);
    ranks = malloc((size_t)size * sizeof *ranks);
    if (own && ranks) {
        for (int rank = 0; rank < size; rank++)
            own[rank] = rank;
        PMPI_Comm_group(comm, &group);
        PMPI_Comm_group(MPI_COMM_WORLD, &world);
        PMPI_Group_translate_ranks(group, size, own, world, ranks);
        PMPI_Group_free(&group);
        PMPI_Group_free(&world);
        ATTRIBUTE_PUT(comm, keyval, ranks);
    } else {
        free(ranks);
        ranks = NULL;
    }
    free(own);
    return ranks;
}

int profile_peer(MPI_Comm comm, int rank) {
    int between, size;
    if (depth > 1 || rank < 0) /* MPI_ANY_SOURCE, MPI_PROC_NULL */
        return PROFILE_NO_PEER;
    PMPI_Comm_test_inter(comm, &between);
    PMPI_Comm_size(comm, &size);
    if (between || rank >= size)
        return PROFILE_NO_PEER;
    if (comm == MPI_COMM_WORLD)
        return rank;
    lock();
    const int *ranks = ranks_of(comm);
    unlock();
    return ranks && ranks[rank] >= 0 ? ranks[rank] : PROFILE_NO_PEER;
}
