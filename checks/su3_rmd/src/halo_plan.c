/* SPDX-License-Identifier: Apache-2.0 */
#include "halo_plan.h"

#include "memory.h"

enum { MATRICES = 3 }; /* a face site */

/* Where lane `lane` of the halo takes its numbers from: the local coordinate of the site one step
 * outside the lane's block, or -1 if another rank has it. */
static int source_coordinate(const struct lattice *lattice, enum halo_kind kind, int d, int lane) {
    int start = lattice->block_start[d][lattice->lane_block[lane][d]];
    int outside = kind == HALO_LINKS ? start + lattice->sub[d] : start - 1;
    if (outside >= 0 && outside < lattice->local[d])
        return outside;
    if (lattice->procs[d] > 1)
        return -1;
    return outside < 0 ? lattice->local[d] - 1 : 0;
}

static int with_block(const struct lattice *lattice, int lane, int d, int block) {
    int stride = 1;
    for (int e = 0; e < d; e++)
        stride *= lattice->split[e];
    return lane + (block - lattice->lane_block[lane][d]) * stride;
}

/* Lanes of the face that neighbours need, in order; and each remote lane's place among them. */
static void plan_message(struct halo_plan *plan, const struct lattice *lattice, enum halo_kind kind,
                         int d) {
    int block, place[LANES_MOST];
    int face = kind == HALO_LINKS ? 0 : lattice->local[d] - 1;
    lattice_block(lattice, d, face, &block, &plan->sent_depth);
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

static void plan_lanes(struct halo_plan *plan, const struct lattice *lattice, enum halo_kind kind,
                       int d) {
    int first_depth = -1;
    plan->any_local = 0;
    plan->same_depth = 1;
    for (int lane = 0; lane < lattice->lanes; lane++) {
        int block, c = source_coordinate(lattice, kind, d, lane);
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
        if (plan->remote_place[lane] < 0 && source_coordinate(lattice, kind, d, lane) < 0)
            plan->depth[lane] = first_depth < 0 ? 0 : first_depth;
}

int halo_plan_make(struct halo_plan *plan, const struct lattice *lattice, enum halo_kind kind,
                   int direction) {
    plan->in = plan->out = NULL;
    plan->requests[0] = plan->requests[1] = MPI_REQUEST_NULL;
    plan->remote = lattice->procs[direction] > 1;
    plan_lanes(plan, lattice, kind, direction);
    if (!plan->remote)
        return 0;
    plan_message(plan, lattice, kind, direction);
    plan->in = memory_take((size_t)plan->numbers * sizeof(real));
    plan->out = memory_take((size_t)plan->numbers * sizeof(real));
    return plan->in && plan->out ? 0 : -1;
}
