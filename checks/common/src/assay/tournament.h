/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_TOURNAMENT_H
#define ASSAY_TOURNAMENT_H

/* Every pair of players once, in rounds of disjoint pairs: the circle method (Kirkman 1847). One
 * player stands still, the others move round it by one place a round. With an odd number one
 * player has no partner in each round. Nothing here is collective. */

/* Rounds for so many players, at least 2. */
int tournament_rounds(int players);

/* Who player meets in round 0 … tournament_rounds(players)-1, or -1 for nobody. */
int tournament_partner(int players, int round, int player);

#endif
