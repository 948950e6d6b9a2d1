/* SPDX-License-Identifier: Apache-2.0 */
#include "halo_plan.h"

enum { MATRICES = 3 }; /* a face site */

/* The source of a lane of the halo: the local coordinate of the site one step outside the lane's
 * block, or -1 if another rank has it. */
static int source_coordinate(const struct lattice *lattice, enum halo_kind kind, int d, int lane) {
    int start = lattice->block_start[d][lattice->lane_block[lane][d]];
    int outside = kind == HALO_LINKS ? start + lattice->sub[d] : start - 1;
    if (outside >= 0 && outside < lattice->local[d])
        return outside;
    if (lattice->procs[d] > 1)
        return -1;
    return outside < 0 ? lattice->local[d] - 1 : 0;
}

/* The lane with another block in direction d. */
static int with_block(const struct lattice *lattice, int lane, int d, int block) {
    int stride = 1;
    for (int e = 0; e < d; e++)
        stride *= lattice->split[e];
    return lane + (block - lattice->lane_block[lane][d]) * stride;
}

void halo_plan_make(struct halo_plan *plan, const struct lattice *lattice, enum halo_kind kind,
                    int d) {
    int block, first_depth = -1, place[LANES_MOST];
    plan->requests[0] = plan->requests[1] = MPI_REQUEST_NULL;
    plan->remote = lattice->procs[d] > 1;
    plan->any_local = 0;
    plan->same_depth = 1;
    for (int lane = 0; lane < lattice->lanes; lane++) {
        int c = source_coordinate(lattice, kind, d, lane);
        plan->source[lane] = lane;
        plan->depth[lane] = 0;
        plan->remote_place[lane] = -1;
        if (c < 0)
            continue;
        lattice_block(lattice, d, c, &block, &plan->depth[lane]);
        plan->source[lane] = with_block(lattice, lane, d, block);
        plan->any_local = 1;
        if (first_depth < 0)
            first_depth = plan->depth[lane];
        plan->same_depth &= plan->depth[lane] == first_depth;
    }
    for (int lane = 0; lane < lattice->lanes; lane++)
        if (source_coordinate(lattice, kind, d, lane) < 0 && first_depth >= 0)
            plan->depth[lane] = first_depth;
    if (!plan->remote)
        return;

    /* The lanes of the face that the neighbour needs, in order, and the place of each remote lane.
     */
    lattice_block(lattice, d, kind == HALO_LINKS ? 0 : lattice->local[d] - 1, &block,
                  &plan->sent_depth);
    plan->sent_count = 0;
    for (int lane = 0; lane < lattice->lanes; lane++)
        if (lattice->lane_block[lane][d] == block) {
            place[lane] = plan->sent_count;
            plan->sent[plan->sent_count++] = lane;
        }
    for (int lane = 0; lane < lattice->lanes; lane++)
        if (source_coordinate(lattice, kind, d, lane) < 0)
            plan->remote_place[lane] = place[with_block(lattice, lane, d, block)];
    plan->numbers = (long)lattice->face[d] * MATRICES * LINK_REALS * plan->sent_count;
    plan->from = lattice_neighbour(lattice, d, kind == HALO_LINKS ? +1 : -1);
    plan->to = lattice_neighbour(lattice, d, kind == HALO_LINKS ? -1 : +1);
    plan->tag = DIRECTIONS * (int)kind + d;
}
