/* SPDX-License-Identifier: Apache-2.0 */
#include "tournament.h"

int tournament_rounds(int players) { return players % 2 ? players : players - 1; }

int tournament_partner(int players, int round, int player) {
    int moving = tournament_rounds(players); /* always odd */
    int partner = ((2 * round - player) % moving + moving) % moving;
    if (player == moving) /* the fixed one */
        return round;
    if (partner != player)
        return partner;
    return moving < players ? moving : -1;
}

int tournament_round(int players, int one, int other) {
    int moving = tournament_rounds(players), sum = one + other;
    if (one == moving || other == moving) /* the fixed one */
        return sum - moving;
    return (sum % 2 ? sum + moving : sum) / 2 % moving; /* 2 round = sum modulo moving */
}
