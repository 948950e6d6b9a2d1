/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that complete requests. A completed request's handle is gone, so the handles are copied
 * before the call while a recording is on. */
#include "wrap.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 64 };

struct copies {
    MPI_Request few[FEW], *all;
    int number;
};

static void copy(struct copies *copies, int number, const MPI_Request requests[]) {
    copies->number = 0;
    copies->all = copies->few;
    if (!recording || number <= 0)
        return;
    if (number > FEW)
        copies->all = malloc((size_t)number * sizeof *copies->all);
    if (!copies->all)
        return;
    memcpy(copies->all, requests, (size_t)number * sizeof *requests);
    copies->number = number;
}

/* The copies at these indices alone; count negative (MPI_UNDEFINED): none. */
static void pick(struct copies *copies, int count, const int indices[]) {
    int kept = 0;
    MPI_Request *picked = count > 0 ? malloc((size_t)count * sizeof *picked) : NULL;
    for (int i = 0; picked && copies->number && i < count; i++)
        picked[kept++] = copies->all[indices[i]];
    if (kept)
        memcpy(copies->all, picked, (size_t)kept * sizeof *picked);
    copies->number = kept;
    free(picked);
}

/* done: an expression on the copies after the call. */
#define WRAP_COMPLETION(name, parameters, arguments, given, handles, done)                         \
    WRAP_FORTRAN(name, parameters, arguments)                                                      \
    VISIBLE int MPI_##name parameters {                                                            \
        struct copies copies;                                                                      \
        copy(&copies, given, handles);                                                             \
        double begun = profile_begin();                                                            \
        int result = NEXT(name) arguments;                                                         \
        double ended = timing_monotonic();                                                         \
        if (begun >= 0 && recording) {                                                             \
            done;                                                                                  \
            record_completion(PROFILE_##name, copies.number, copies.all, begun, ended);            \
            recording_now_and_then(ended);                                                         \
        } else if (begun >= 0)                                                                     \
            profile_count(PROFILE_##name, PROFILE_NO_PEER, -1, begun, ended);                      \
        profile_leave();                                                                           \
        if (copies.all != copies.few)                                                              \
            free(copies.all);                                                                      \
        return result;                                                                             \
    }

WRAP_COMPLETION(Wait, (MPI_Request * request, MPI_Status *status), (request, status), 1, request, )
WRAP_COMPLETION(Waitall, (int number, MPI_Request requests[], MPI_Status *statuses),
                (number, requests, statuses), number, requests, )
WRAP_COMPLETION(Waitany, (int number, MPI_Request requests[], int *index, MPI_Status *status),
                (number, requests, index, status), number, requests,
                pick(&copies, *index >= 0, index))
WRAP_COMPLETION(
    Waitsome, (int number, MPI_Request requests[], int *done, int indices[], MPI_Status *statuses),
    (number, requests, done, indices, statuses), number, requests, pick(&copies, *done, indices))
WRAP_COMPLETION(Test, (MPI_Request * request, int *flag, MPI_Status *status),
                (request, flag, status), 1, request, copies.number *= *flag != 0)
WRAP_COMPLETION(Testall, (int number, MPI_Request requests[], int *flag, MPI_Status *statuses),
                (number, requests, flag, statuses), number, requests, copies.number *= *flag != 0)
WRAP_COMPLETION(Testany,
                (int number, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
                (number, requests, index, flag, status), number, requests,
                pick(&copies, *flag && *index >= 0, index))
WRAP_COMPLETION(
    Testsome, (int number, MPI_Request requests[], int *done, int indices[], MPI_Status *statuses),
    (number, requests, done, indices, statuses), number, requests, pick(&copies, *done, indices))

/* A cancelled receive takes no message, so that those after it cannot be numbered. */
WRAP(Cancel, (MPI_Request * request), (request), PROFILE_NO_PEER, -1,
     (record_other(this, 0, begun, ended), recording_unordered = 1))
