/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_LATTICE_H
#define SU3_LATTICE_H

#include "real.h"

/* Where every site of this rank's part of the lattice lies in memory. Sites are kept in vectors:
 * the local lattice (local[]) is divided into split[x]·…·split[t] = lanes blocks of sub[] sites,
 * and one vector site holds the same place of every block, one block a lane. Neighbours of a
 * vector site are vector sites; where a step leaves the block, it leads to a halo slot, which
 * halo.h fills from other lanes and other ranks. A length that the split does not divide makes
 * blocks that overlap: such a site is computed twice, with the same result, and owned once.
 *
 * Vector sites are numbered v = x + sub[x](y + sub[y](z + sub[z] t)); halo slots follow, direction
 * by direction, numbered in the same way without that direction.
 *
 * Everything is constant after lattice_make. Lengths are in sites. */
struct lattice {
    int size[DIRECTIONS];  /* the whole lattice */
    int procs[DIRECTIONS]; /* process grid; rank = x + Px(y + Py(z + Pz t)) */
    int place[DIRECTIONS]; /* this rank's place in it */
    int rank, ranks;
    int local[DIRECTIONS];
    int lanes, split[DIRECTIONS], sub[DIRECTIONS];
    int block_start[DIRECTIONS][LANES_MOST]; /* first local coordinate of each block */
    int lane_block[LANES_MOST][DIRECTIONS];  /* which block a lane is, direction by direction */
    int volume;                              /* vector sites */
    int has_halo[DIRECTIONS];                /* the direction is split or cut */
    int face[DIRECTIONS];                    /* vector sites in a face across the direction */
    int slot[DIRECTIONS];                    /* number of the direction's first halo slot */
    int slots;                               /* volume and all halo slots */
    int *ahead;                              /* [volume][direction]: vector site or halo slot */
    int by_slice;                            /* steps go time slice by time slice (simulation.h) */
    int staple_sites;     /* vector sites that have room for their staples at the same time */
    long *staple_home;    /* [volume]: first of a site's 12 matrices in fields.staples */
    int *in_order;        /* 0, 1, 2 … volume-1 */
    long *behind_staple;  /* [volume][direction]: matrix in fields.staples */
    unsigned char *owned; /* [volume][lanes] */
    int *inner_ahead, *inner_behind; /* vector sites, those that need no message first … */
    int inner_ahead_count, inner_behind_count; /* … and how many of them need none */
};

/* Set everything from size, procs, rank, ranks and lanes (a power of two up to LANES_MOST), which
 * the caller has filled in; procs divides size. 0, or -1 if memory is out. Local. */
int lattice_make(struct lattice *lattice);
void lattice_free(struct lattice *lattice);

/* Vector sites and halo slots that lattice_make would make, without making them; for the memory
 * estimate. Same preconditions. */
void lattice_count(struct lattice *lattice);

long lattice_sites(const struct lattice *lattice);       /* of the whole lattice */
long lattice_local_sites(const struct lattice *lattice); /* of this rank */

/* The vector site and lane that own the local coordinates. */
void lattice_find(const struct lattice *lattice, const int local[DIRECTIONS], int *site, int *lane);

/* Local coordinates of a lane of a vector site. */
void lattice_local(const struct lattice *lattice, int site, int lane, int local[DIRECTIONS]);

/* Number i = x + nx(y + ny(z + nz·t)) of a lane of a vector site in the whole lattice. */
long lattice_index(const struct lattice *lattice, int site, int lane);

/* Vector site of the `number`-th place of a face across `direction`, at depth `depth`. */
int lattice_face_site(const struct lattice *lattice, int direction, int number, int depth);

/* Block and depth in it that own local coordinate c of a direction. */
void lattice_block(const struct lattice *lattice, int direction, int c, int *block, int *depth);

/* Vector sites in a time slice of the block. */
int lattice_slice(const struct lattice *lattice);

/* Rank of the neighbour one step (+1 or -1) along a direction. */
int lattice_neighbour(const struct lattice *lattice, int direction, int step);

#endif
