/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "real.h"

/* The memory layout of this rank's part of the lattice. Sites are stored in vectors: the local
 * lattice (local[]) is divided into split[x]·…·split[t] = lanes blocks of sub[] sites, and a vector
 * site holds the same place of every block, one block in each lane. The neighbour of a vector site
 * is a vector site or, where the step leaves the block, a halo slot, which halo.h fills from other
 * lanes and other ranks. If the split does not divide a length, blocks overlap: a site in two
 * blocks is computed twice, with the same result, and owned once.
 *
 * Vector sites are numbered v = x + sub[x](y + sub[y](z + sub[z] t)); halo slots follow, direction
 * by direction, numbered in the same way without that direction. If steps go by time slices, t has
 * halo slots in any case, and those across x, y and z serve one slice after the other: the first
 * slice has its own, all others share those of the second.
 *
 * Constant after lattice_make. Lengths are in sites. All functions are local. */
struct lattice {
    int size[DIRECTIONS];  /* of the global lattice */
    int procs[DIRECTIONS]; /* process grid; rank = x + Px(y + Py(z + Pz t)) */
    int place[DIRECTIONS]; /* this rank's place in it */
    int rank, ranks;
    int local[DIRECTIONS];
    int lanes, split[DIRECTIONS], sub[DIRECTIONS];
    int block_start[DIRECTIONS][LANES_MOST]; /* first local coordinate of each block */
    int lane_block[LANES_MOST][DIRECTIONS];  /* the block of a lane, direction by direction */
    int volume;                              /* vector sites */
    int has_halo[DIRECTIONS];                /* the direction is split, or divided among ranks */
    int face[DIRECTIONS];                    /* vector sites in a face across the direction */
    int slot[DIRECTIONS];                    /* first halo slot of the direction */
    int slots;                               /* vector sites and halo slots */
    int *ahead;                              /* [volume][direction]: vector site or halo slot */
    int by_slice;                            /* steps go time slice by time slice (leapfrog.h) */
    long staples;                            /* matrices of fields.staples that are no halo slots */
    long *own_staple, *behind_staple; /* [volume][direction]: the first of three matrices there, of
                                         the site itself and of the one behind */
    int *in_order;                    /* 0, 1, 2 … volume-1 */
    unsigned char *owned;             /* [volume][lanes] */
    int *inner_ahead, *inner_behind;  /* vector sites, those that need no message first … */
    int inner_ahead_count, inner_behind_count; /* … and the number of these */
};

/* Set all other members from size, procs, rank, ranks and lanes (a power of two up to LANES_MOST);
 * procs divides size. 0, or -1 if out of memory. */
int lattice_make(struct lattice *lattice);
void lattice_free(struct lattice *lattice);

/* The same without allocation, for the memory estimate. */
void lattice_count(struct lattice *lattice);

long lattice_sites(const struct lattice *lattice); /* of the global lattice */

/* The halo slot of place `number` of the face across `direction`. */
int lattice_slot(const struct lattice *lattice, int direction, int number);

/* The vector site and lane that own the local coordinates. */
void lattice_find(const struct lattice *lattice, const int local[DIRECTIONS], int *site, int *lane);

/* Local coordinates of a lane of a vector site. */
void lattice_local(const struct lattice *lattice, int site, int lane, int local[DIRECTIONS]);

/* Global number x + nx(y + ny(z + nz·t)) of a lane of a vector site. */
long lattice_index(const struct lattice *lattice, int site, int lane);

/* Vector site number `number` of the face across `direction` at depth `depth`. */
int lattice_face_site(const struct lattice *lattice, int direction, int number, int depth);

/* The block that owns local coordinate c of a direction, and the depth in it. */
void lattice_block(const struct lattice *lattice, int direction, int c, int *block, int *depth);

/* Vector sites of a row (the sites along x), a slab (its rows along y) and a time slice of the
 * block, for direction 1, 2 and 3: those at the same place in this direction and beyond. */
int lattice_places(const struct lattice *lattice, int direction);

/* Rank of the neighbour one step (+1 or -1) along a direction. */
int lattice_neighbour(const struct lattice *lattice, int direction, int step);
