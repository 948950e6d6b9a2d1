/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/clock.h"
#include "profile.h"
#include "recording.h"

#include <stddef.h>

/* NEXT(name): the library's function. The Fortran bindings of Open MPI and MPICH (mpi_f08) call
 * PMPI_ functions of C, so the preloaded library wraps those too: from the bindings they are the
 * program's calls, from anywhere else the library's. */
#if defined(PROFILE_PRELOADED) && (defined(OPEN_MPI) || defined(MPICH_VERSION))
#define PROFILE_FORTRAN
int profile_from_fortran(const void *caller);
void *profile_next(const char *name);
#define NEXT(name) next_##name
#define WRAP_FORTRAN(name, parameters, arguments)                                                  \
    static int next_##name parameters {                                                            \
        static int(*found) parameters;                                                             \
        if (!found)                                                                                \
            *(void **)&found = profile_next("PMPI_" #name);                                        \
        return found arguments;                                                                    \
    }                                                                                              \
    VISIBLE int MPI_##name parameters;                                                             \
    VISIBLE int PMPI_##name parameters {                                                           \
        return profile_from_fortran(__builtin_return_address(0)) ? MPI_##name arguments            \
                                                                 : next_##name arguments;          \
    }
#else
#define NEXT(name) PMPI_##name
#define WRAP_FORTRAN(name, parameters, arguments)
#endif

/* A wrapper of MPI_name: its parameters and arguments in brackets, the peer and bytes to count, and
 * the call that records it, all of which are computed after the call, outside its time. */
#define WRAP(name, parameters, arguments, peer, bytes, record)                                     \
    WRAP_FORTRAN(name, parameters, arguments)                                                      \
    VISIBLE int MPI_##name parameters {                                                            \
        const enum profile_call this = PROFILE_##name;                                             \
        double begun = profile_begin();                                                            \
        int result = NEXT(name) arguments;                                                         \
        double ended = timing_monotonic();                                                         \
        if (begun >= 0 && recording) {                                                             \
            record;                                                                                \
            recording_now_and_then(ended);                                                         \
        } else if (begun >= 0)                                                                     \
            profile_count(this, peer, bytes, begun, ended);                                        \
        profile_leave();                                                                           \
        return result;                                                                             \
    }

/* The same for a call without peer and message. */
#define WRAP_QUIET(name, parameters, arguments)                                                    \
    WRAP(name, parameters, arguments, PROFILE_NO_PEER, -1, record_other(this, 0, begun, ended))

/* `may` of families of calls that are there with a request and without. */
#define WITHOUT(parameter)
#define WITH(parameter) , parameter

/* ---- arguments of collective calls ---- */

static inline int is_root(int root, MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

/* The role in a call whose root gives to all others. */
#define BY_ROOT (is_root(root, comm) ? ROLE_GIVES : ROLE_IS_GIVEN)

/* Ranks that a rank of comm gives a block to. */
static inline int ranks_of(MPI_Comm comm) {
    int size, between;
    PMPI_Comm_test_inter(comm, &between);
    if (between)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

/* Bytes of all blocks, one for each of these ranks. */
static inline long long sum_of(const int counts[], MPI_Comm comm, MPI_Datatype type) {
    long long bytes = 0;
    for (int rank = 0, size = ranks_of(comm); rank < size; rank++)
        bytes += profile_bytes(counts[rank], type);
    return bytes;
}
