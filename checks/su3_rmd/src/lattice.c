/* SPDX-License-Identifier: Apache-2.0 */
#include "lattice.h"

#include <stdlib.h>
#include <string.h>

enum { MATRICES = 3 }; /* staples of a site for a step along one direction */

/* Cost of a split, in units of the work on one vector site: halo slots cost copying, a split t
 * slows Polyakov loops, overlapping blocks add vector sites. */
static double split_cost(const struct lattice *lattice, const int split[DIRECTIONS]) {
    double volume = 1, halo = 0;
    int sub[DIRECTIONS];
    for (int d = 0; d < DIRECTIONS; d++) {
        sub[d] = (lattice->local[d] + split[d] - 1) / split[d];
        volume *= sub[d];
    }
    for (int d = 0; d < DIRECTIONS; d++)
        if (split[d] > 1 || lattice->procs[d] > 1)
            halo += volume / sub[d];
    return volume + 0.06 * halo + (split[3] > 1 ? 0.1 * volume : 0);
}

int lattice_places(const struct lattice *lattice, int direction) {
    int places = 1;
    for (int d = 0; d < direction; d++)
        places *= lattice->sub[d];
    return places;
}

/* Groups of three matrices for the staples along x, y and z of the first slice, which is updated
 * last if t is divided among ranks and messages overlap with work. */
static long staples_kept(const struct lattice *lattice) {
    return lattice->procs[3] > 1 ? 3L * lattice_places(lattice, 3) : 0;
}

/* Where staples are kept when a step goes by time slices (leapfrog.h), in groups of three matrices.
 * Of a slice the staples along t are needed for the next slice (of the last one, for a halo), along
 * z for the next slab, along y for the next row, and along x for the same row; the first row of a
 * slab, and the first slab of a slice, wait for the last one. So three slices, two slabs and a few
 * rows of memory serve all, and stay in cache. */
static long staple_group(const struct lattice *lattice, int site, int d) {
    const int row = lattice_places(lattice, 1), slab = lattice_places(lattice, 2);
    const int slice = lattice_places(lattice, 3), t = site / slice, last = lattice->sub[3] - 1;
    const int z = site % slice / slab, y = site % slab / row, x = site % row;
    const long kept = staples_kept(lattice), in_rows = (lattice->sub[1] + 2L) * row;
    if (d == 3)
        return kept + (long)(t == last ? 2 : t % 2) * slice + site % slice;
    if (t == 0 && kept > 0)
        return 3L * site + d;
    if (d == 2)
        return kept + 3L * slice + z % 2 * slab + site % slab;
    const int turn = d == 1 ? y % 2 : y > 0;
    const int room = z == 0 ? y : lattice->sub[1] + turn;
    return kept + 3L * slice + 2L * slab + d * in_rows + (long)room * row + x;
}

/* Groups of staple_group. */
static long staple_groups(const struct lattice *lattice) {
    const long row = lattice_places(lattice, 1), slab = lattice_places(lattice, 2);
    const long slice = lattice_places(lattice, 3);
    return staples_kept(lattice) + 3 * slice + 2 * slab + 2 * (lattice->sub[1] + 2L) * row;
}

/* Whether halo slots across the direction serve one time slice after the other. */
static int slots_shared(const struct lattice *lattice, int d) { return lattice->by_slice && d < 3; }

int lattice_slot(const struct lattice *lattice, int direction, int number) {
    const int in_slice = lattice->face[direction] / lattice->sub[3];
    if (slots_shared(lattice, direction) && number >= in_slice)
        number = in_slice + number % in_slice;
    return lattice->slot[direction] + number;
}

void lattice_count(struct lattice *lattice) {
    const int *procs = lattice->procs;
    double best = -1;
    for (int d = 0, rest = lattice->rank; d < DIRECTIONS; rest /= lattice->procs[d], d++) {
        lattice->place[d] = rest % lattice->procs[d];
        lattice->local[d] = lattice->size[d] / lattice->procs[d];
    }
    for (int x = 1; x <= lattice->lanes; x *= 2)
        for (int y = 1; x * y <= lattice->lanes; y *= 2)
            for (int z = 1; x * y * z <= lattice->lanes; z *= 2) {
                int split[DIRECTIONS] = {x, y, z, lattice->lanes / (x * y * z)};
                double cost = split_cost(lattice, split);
                if (best >= 0 && cost >= best)
                    continue;
                best = cost;
                memcpy(lattice->split, split, sizeof split);
            }
    lattice->volume = 1;
    for (int d = 0; d < DIRECTIONS; d++) {
        int length = (lattice->local[d] + lattice->split[d] - 1) / lattice->split[d];
        int last = lattice->local[d] - length; /* start of the last block */
        lattice->sub[d] = length;
        lattice->volume *= length;
        for (int block = 0; block < lattice->split[d]; block++)
            lattice->block_start[d][block] = block * length < last ? block * length : last;
    }
    for (int lane = 0; lane < lattice->lanes; lane++)
        for (int d = 0, rest = lane; d < DIRECTIONS; rest /= lattice->split[d], d++)
            lattice->lane_block[lane][d] = rest % lattice->split[d];
    /* Time slice by time slice, if only t needs messages, the slices are some, and the staples of
     * the first come from the last (no overlapping blocks along t). */
    lattice->by_slice = procs[0] * procs[1] * procs[2] == 1 && lattice->sub[3] > 3 &&
                        lattice->local[3] % lattice->split[3] == 0;
    lattice->slots = lattice->volume;
    for (int d = 0; d < DIRECTIONS; d++) {
        lattice->has_halo[d] =
            lattice->split[d] > 1 || procs[d] > 1 || (d == 3 && lattice->by_slice);
        lattice->face[d] = lattice->volume / lattice->sub[d];
        lattice->slot[d] = lattice->slots;
        if (lattice->has_halo[d])
            lattice->slots += slots_shared(lattice, d) ? 2 * (lattice->face[d] / lattice->sub[3])
                                                       : lattice->face[d];
    }
    lattice->staples = MATRICES * (lattice->by_slice ? staple_groups(lattice)
                                                     : DIRECTIONS * (long)lattice->volume);
}

static void site_places(const struct lattice *lattice, int site, int place[DIRECTIONS]) {
    for (int d = 0; d < DIRECTIONS; site /= lattice->sub[d], d++)
        place[d] = site % lattice->sub[d];
}

static int place_site(const struct lattice *lattice, const int place[DIRECTIONS]) {
    int site = 0;
    for (int d = DIRECTIONS - 1; d >= 0; d--)
        site = site * lattice->sub[d] + place[d];
    return site;
}

/* Vector site or halo slot one step from a site. */
static int step_from(const struct lattice *lattice, int site, int direction, int step) {
    int place[DIRECTIONS];
    site_places(lattice, site, place);
    int next = place[direction] + step;
    if (next < 0 || next >= lattice->sub[direction]) {
        if (lattice->has_halo[direction]) {
            int number = 0; /* in the face */
            for (int d = DIRECTIONS - 1; d >= 0; d--)
                if (d != direction)
                    number = number * lattice->sub[d] + place[d];
            return lattice_slot(lattice, direction, number);
        }
        next = (next + lattice->sub[direction]) % lattice->sub[direction];
    }
    place[direction] = next;
    return place_site(lattice, place);
}

/* The first of the three staples of a site for a step along d. */
static long own_staple(const struct lattice *lattice, int site, int d) {
    return MATRICES *
           (lattice->by_slice ? staple_group(lattice, site, d) : DIRECTIONS * (long)site + d);
}

/* 1 if the vector site needs a message for the step (+1: at the end of the block, -1: at its
 * beginning) in any direction. */
static int needs_message(const struct lattice *lattice, int site, int step) {
    int place[DIRECTIONS];
    site_places(lattice, site, place);
    for (int d = 0; d < DIRECTIONS; d++)
        if (lattice->procs[d] > 1 && place[d] == (step > 0 ? lattice->sub[d] - 1 : 0))
            return 1;
    return 0;
}

/* List the sites, those that need no message first; returns the number of these. */
static int sort_sites(const struct lattice *lattice, int step, int *list) {
    int count = 0, inner;
    for (int site = 0; site < lattice->volume; site++)
        if (!needs_message(lattice, site, step))
            list[count++] = site;
    inner = count;
    for (int site = 0; site < lattice->volume; site++)
        if (needs_message(lattice, site, step))
            list[count++] = site;
    return inner;
}

int lattice_make(struct lattice *lattice) {
    lattice_count(lattice);
    size_t volume = (size_t)lattice->volume;
    lattice->ahead = malloc(volume * DIRECTIONS * sizeof *lattice->ahead);
    lattice->own_staple = malloc(volume * DIRECTIONS * sizeof *lattice->own_staple);
    lattice->behind_staple = malloc(volume * DIRECTIONS * sizeof *lattice->behind_staple);
    lattice->in_order = malloc(volume * sizeof *lattice->in_order);
    lattice->owned = malloc(volume * (size_t)lattice->lanes);
    lattice->inner_ahead = malloc(volume * sizeof *lattice->inner_ahead);
    lattice->inner_behind = malloc(volume * sizeof *lattice->inner_behind);
    if (!lattice->ahead || !lattice->own_staple || !lattice->behind_staple || !lattice->in_order ||
        !lattice->owned || !lattice->inner_ahead || !lattice->inner_behind) {
        lattice_free(lattice);
        return -1;
    }
    for (int site = 0; site < lattice->volume; site++) {
        lattice->in_order[site] = site;
        for (int d = 0; d < DIRECTIONS; d++) {
            int from = step_from(lattice, site, d, -1);
            lattice->ahead[DIRECTIONS * site + d] = step_from(lattice, site, d, +1);
            lattice->own_staple[DIRECTIONS * site + d] = own_staple(lattice, site, d);
            lattice->behind_staple[DIRECTIONS * site + d] =
                from < lattice->volume ? own_staple(lattice, from, d)
                                       : lattice->staples + MATRICES * (from - lattice->volume);
        }
        for (int lane = 0; lane < lattice->lanes; lane++) {
            int local[DIRECTIONS], owner, owner_lane;
            lattice_local(lattice, site, lane, local);
            lattice_find(lattice, local, &owner, &owner_lane);
            lattice->owned[(long)site * lattice->lanes + lane] =
                owner == site && owner_lane == lane;
        }
    }
    lattice->inner_ahead_count = sort_sites(lattice, +1, lattice->inner_ahead);
    lattice->inner_behind_count = sort_sites(lattice, -1, lattice->inner_behind);
    return 0;
}

void lattice_free(struct lattice *lattice) {
    free(lattice->ahead);
    free(lattice->own_staple);
    free(lattice->behind_staple);
    free(lattice->in_order);
    free(lattice->owned);
    free(lattice->inner_ahead);
    free(lattice->inner_behind);
    lattice->ahead = lattice->in_order = lattice->inner_ahead = lattice->inner_behind = NULL;
    lattice->own_staple = lattice->behind_staple = NULL;
    lattice->owned = NULL;
}

long lattice_sites(const struct lattice *lattice) {
    long sites = 1;
    for (int d = 0; d < DIRECTIONS; d++)
        sites *= lattice->size[d];
    return sites;
}

void lattice_block(const struct lattice *lattice, int direction, int c, int *block, int *depth) {
    *block = c / lattice->sub[direction];
    *depth = c - lattice->block_start[direction][*block];
}

void lattice_find(const struct lattice *lattice, const int local[DIRECTIONS], int *site,
                  int *lane) {
    int place[DIRECTIONS];
    *lane = 0;
    for (int d = DIRECTIONS - 1; d >= 0; d--) {
        int block;
        lattice_block(lattice, d, local[d], &block, &place[d]);
        *lane = *lane * lattice->split[d] + block;
    }
    *site = place_site(lattice, place);
}

void lattice_local(const struct lattice *lattice, int site, int lane, int local[DIRECTIONS]) {
    site_places(lattice, site, local);
    for (int d = 0; d < DIRECTIONS; d++)
        local[d] += lattice->block_start[d][lattice->lane_block[lane][d]];
}

long lattice_index(const struct lattice *lattice, int site, int lane) {
    int local[DIRECTIONS];
    long index = 0;
    lattice_local(lattice, site, lane, local);
    for (int d = DIRECTIONS - 1; d >= 0; d--)
        index = index * lattice->size[d] + lattice->place[d] * lattice->local[d] + local[d];
    return index;
}

int lattice_face_site(const struct lattice *lattice, int direction, int number, int depth) {
    int place[DIRECTIONS];
    for (int d = 0; d < DIRECTIONS; d++) {
        if (d == direction)
            continue;
        place[d] = number % lattice->sub[d];
        number /= lattice->sub[d];
    }
    place[direction] = depth;
    return place_site(lattice, place);
}

int lattice_neighbour(const struct lattice *lattice, int direction, int step) {
    int rank = 0;
    for (int d = DIRECTIONS - 1; d >= 0; d--) {
        int place = lattice->place[d];
        if (d == direction)
            place = (place + step + lattice->procs[d]) % lattice->procs[d];
        rank = rank * lattice->procs[d] + place;
    }
    return rank;
}
