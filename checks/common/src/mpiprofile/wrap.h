/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/clock.h"
#include "profile.h"

/* A wrapper of MPI_name: its parameters and arguments in brackets, and the peer and bytes to count,
 * which are computed after the call, outside its time. */
#define WRAP(name, parameters, arguments, peer, bytes)                                             \
    VISIBLE int MPI_##name parameters {                                                            \
        double begun = profile_begin();                                                            \
        int result = PMPI_##name arguments;                                                        \
        double ended = timing_monotonic();                                                         \
        int peer_ = begun >= 0 ? (peer) : PROFILE_NO_PEER;                                         \
        long long bytes_ = begun >= 0 ? (bytes) : 0;                                               \
        profile_end(PROFILE_##name, peer_, bytes_, begun, ended);                                  \
        return result;                                                                             \
    }

/* The same for a call without peer and message. */
#define WRAP_QUIET(name, parameters, arguments)                                                    \
    WRAP(name, parameters, arguments, PROFILE_NO_PEER, -1)
