/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_WRAP_H
#define ASSAY_WRAP_H

#include "profile.h"

/* A wrapper: MPI_name with its parameters in brackets, the names to hand on in brackets, and what
 * to count. peer and bytes are worked out after the call, outside its time. */
#define WRAP(name, parameters, arguments, peer, bytes)                                             \
    __attribute__((visibility("default"))) int MPI_##name parameters {                             \
        double begun = profile_begin();                                                            \
        int result = PMPI_##name arguments;                                                        \
        double ended = profile_now();                                                              \
        int peer_ = begun >= 0 ? (peer) : PROFILE_NO_PEER;                                         \
        long long bytes_ = begun >= 0 ? (bytes) : 0;                                               \
        profile_end(PROFILE_##name, peer_, bytes_, begun, ended);                                  \
        return result;                                                                             \
    }

/* For a call without a peer and a message. */
#define WRAP_QUIET(name, parameters, arguments)                                                    \
    WRAP(name, parameters, arguments, PROFILE_NO_PEER, -1)

#endif
