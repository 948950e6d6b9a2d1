/* SPDX-License-Identifier: Apache-2.0 */
/* The tournament: every pair meets once, and no player meets two others in a round. */
#include "assay/tournament.h"
#include "proof.h"

#include <string.h>

#define MOST 33

/* Meetings of so many players that are missing, repeated, not mutual or said of another round. */
static double wrong_meetings(int players) {
    int met[MOST][MOST];
    double wrong = 0;
    memset(met, 0, sizeof met);
    for (int round = 0; round < tournament_rounds(players); round++) {
        for (int player = 0; player < players; player++) {
            int partner = tournament_partner(players, round, player);
            if (partner < 0)
                continue;
            wrong += partner == player || partner >= players;
            wrong += tournament_partner(players, round, partner) != player;
            wrong += tournament_round(players, player, partner) != round;
            met[player][partner]++;
        }
    }
    for (int a = 0; a < players; a++)
        for (int b = 0; b < players; b++)
            wrong += met[a][b] != (a != b);
    return wrong;
}

int main(void) {
    double wrong = 0;
    for (int players = 2; players <= MOST; players++)
        wrong += wrong_meetings(players);
    proof_deviation("wrong meetings, 2 to 33 players", wrong, 0, 0);
    return proof_status();
}
