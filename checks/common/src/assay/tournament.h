/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Every pair of players once, in rounds of disjoint pairs: the circle method (Kirkman 1847). One
 * player is fixed, the others rotate by one place a round. With an odd number of players one has no
 * partner in each round. Local. */

/* Number of rounds; players >= 2. */
int tournament_rounds(int players);

/* The partner of player in round 0 … tournament_rounds(players)-1, or -1. */
int tournament_partner(int players, int round, int player);

/* The round in which two different players meet. */
int tournament_round(int players, int one, int other);
