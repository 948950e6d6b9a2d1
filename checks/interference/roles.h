/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_ROLES_H
#define ASSAY_ROLES_H

#include <mpi.h>

/* Who does what: two endpoints exchange messages, all other ranks are neighbours that only count.
 * Rank 0 is the first endpoint; the second is the first rank on another host, or rank 1 where all
 * ranks share one. */

enum role { ENDPOINT, SAME_NODE, OTHER_NODE };
#define ROLES 3
extern const char *const role_names[ROLES]; /* as the metrics' position "counting" */

struct roles {
    enum role mine;
    int rank, ranks;
    int first, second; /* the endpoints' ranks */
    MPI_Comm pair;     /* endpoints: first has rank 0, second rank 1; neighbours: not to be used */
};

/* Collective; at least 2 ranks. */
struct roles roles_choose(void);

/* Sleep in short naps until an empty message with tag has come from a rank, and take it: a rank
 * that waits in MPI_Recv would be busy, not idle. */
void rest_until(int from, int tag);

/* 1 if the message is there, which is then taken; else 0, at once. */
int arrived(int from, int tag);

/* An empty message to every rank but the own and `but` (-1: nobody else). */
void tell_all(const struct roles *roles, int but, int tag);

/* Every rank in turn calls body(context) while all others rest. Collective. */
void take_turns(const struct roles *roles, void (*body)(void *context), void *context);

#endif
