/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>

/* The roles of ranks: two endpoints exchange messages, all other ranks are neighbours that only
 * count. Rank 0 is the first endpoint; the second is the first rank on another host, or rank 1 if
 * all ranks share one host. */

enum role { ENDPOINT, SAME_NODE, OTHER_NODE };
#define ROLES 3
extern const char *const role_names[ROLES]; /* the values of the position "counting" */

struct roles {
    enum role mine;
    int rank, ranks;
    int first, second; /* the endpoints' ranks */
    MPI_Comm pair;     /* endpoints: rank 0 is first, rank 1 second; unused by neighbours */
};

/* Collective over all ranks, at least 2. */
struct roles roles_choose(void);

/* Receive an empty message with tag, asleep until it has arrived: a rank in MPI_Recv would poll. */
void rest_until(int from, int tag);

/* Receive such a message if it has arrived: 1, else 0. Does not wait. */
int arrived(int from, int tag);

/* Send an empty message to every rank except this one and `but` (-1: none). */
void tell_all(const struct roles *roles, int but, int tag);
