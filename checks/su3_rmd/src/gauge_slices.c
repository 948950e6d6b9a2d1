/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge_slices.h"

#include "random.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATOR_BYTES = 7 * 4 + 8, LINKS = DIRECTIONS * LINK_REALS, TAG = 65 };

static int part_sites(const struct lattice *lattice) {
    return lattice->local[0] * lattice->local[1] * lattice->local[2];
}

size_t gauge_slices_bytes(const struct gauge_slices *slices) {
    const int *size = slices->lattice->size;
    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2] * slices->site_bytes;
}

int gauge_slices_make(struct gauge_slices *slices, const struct lattice *lattice, MPI_Comm comm,
                      size_t real_bytes) {
    slices->lattice = lattice;
    slices->comm = comm;
    slices->real_bytes = real_bytes;
    slices->site_bytes = LINKS * real_bytes + GENERATOR_BYTES;
    slices->part = malloc((size_t)part_sites(lattice) * slices->site_bytes);
    slices->slice = lattice->rank == 0 ? malloc(gauge_slices_bytes(slices)) : NULL;
    return !slices->part || (lattice->rank == 0 && !slices->slice) ? -1 : 0;
}

void gauge_slices_free(struct gauge_slices *slices) {
    free(slices->part);
    free(slices->slice);
}

static void site_write(const struct lattice *lattice, const struct fields *fields,
                       const int local[DIRECTIONS], unsigned char *out) {
    struct generator generator;
    int site, lane;
    lattice_find(lattice, local, &site, &lane);
    for (int d = 0; d < DIRECTIONS; d++, out += sizeof(su3)) {
        su3 link;
        field_get(lattice, fields->links, (size_t)(DIRECTIONS * site + d), lane, &link);
        memcpy(out, &link, sizeof link);
    }
    random_get(lattice, fields, site, lane, &generator);
    memcpy(out, generator.shift, sizeof generator.shift);
    memcpy(out + sizeof generator.shift, &generator.congruent, sizeof generator.congruent);
}

/* Into one lane: all lanes that hold a site, owned or not, must get it. */
static void site_read(const struct gauge_slices *slices, struct fields *fields, int site, int lane,
                      const unsigned char *in) {
    const struct lattice *lattice = slices->lattice;
    struct generator generator;
    for (int d = 0; d < DIRECTIONS; d++, in += LINK_REALS * slices->real_bytes) {
        su3 link;
        for (int e = 0; e < LINK_REALS; e++) {
            float number_4;
            double number_8;
            memcpy(&number_4, in + (size_t)e * slices->real_bytes, sizeof number_4);
            if (slices->real_bytes == sizeof number_8)
                memcpy(&number_8, in + (size_t)e * slices->real_bytes, sizeof number_8);
            (&link.e[0][0].re)[e] =
                slices->real_bytes == sizeof number_8 ? (real)number_8 : (real)number_4;
        }
        field_put(lattice, fields->links, (size_t)(DIRECTIONS * site + d), lane, &link);
    }
    random_get(lattice, fields, site, lane, &generator); /* keeps its factor */
    memcpy(generator.shift, in, sizeof generator.shift);
    memcpy(&generator.congruent, in + sizeof generator.shift, sizeof generator.congruent);
    random_put(lattice, fields, site, lane, &generator);
}

static void rank_place(const struct lattice *lattice, int rank, int place[DIRECTIONS]) {
    for (int d = 0; d < DIRECTIONS; rank /= lattice->procs[d], d++)
        place[d] = rank % lattice->procs[d];
}

/* 1 if this rank has a part of slice t. */
static int has_part(const struct lattice *lattice, int t) {
    return lattice->place[3] == t / lattice->local[3];
}

/* Copy the rows of a rank's part into the slice, or back. */
static void move_part(const struct gauge_slices *slices, int rank, int into_slice) {
    const int *local = slices->lattice->local, *size = slices->lattice->size;
    const size_t row = (size_t)local[0] * slices->site_bytes;
    unsigned char *part = slices->part;
    int place[DIRECTIONS];
    rank_place(slices->lattice, rank, place);
    for (int z = 0; z < local[2]; z++)
        for (int y = 0; y < local[1]; y++, part += row) {
            size_t at = (size_t)(place[2] * local[2] + z) * (size_t)size[1];
            at = (at + (size_t)(place[1] * local[1] + y)) * (size_t)size[0];
            unsigned char *home =
                slices->slice + (at + (size_t)(place[0] * local[0])) * slices->site_bytes;
            memcpy(into_slice ? home : part, into_slice ? part : home, row);
        }
}

/* Exchange the parts of slice t between rank 0 and the ranks that have one; into_slice: towards
 * rank 0. Collective. */
static void exchange_parts(struct gauge_slices *slices, int t, int into_slice) {
    const struct lattice *lattice = slices->lattice;
    const int bytes = part_sites(lattice) * (int)slices->site_bytes;
    MPI_Status status;
    if (lattice->rank == 0 && into_slice && has_part(lattice, t))
        move_part(slices, 0, 1);
    for (int rank = 0; rank < lattice->ranks; rank++) {
        int place[DIRECTIONS];
        rank_place(lattice, rank, place);
        if (place[3] != t / lattice->local[3] || rank == 0)
            continue;
        if (lattice->rank == rank && into_slice)
            MPI_Send(slices->part, bytes, MPI_BYTE, 0, TAG, slices->comm);
        else if (lattice->rank == rank)
            MPI_Recv(slices->part, bytes, MPI_BYTE, 0, TAG, slices->comm, &status);
        else if (lattice->rank == 0 && into_slice) {
            MPI_Recv(slices->part, bytes, MPI_BYTE, rank, TAG, slices->comm, &status);
            move_part(slices, rank, 1);
        } else if (lattice->rank == 0) {
            move_part(slices, rank, 0);
            MPI_Send(slices->part, bytes, MPI_BYTE, rank, TAG, slices->comm);
        }
    }
    if (lattice->rank == 0 && !into_slice && has_part(lattice, t))
        move_part(slices, 0, 0);
}

void gauge_slices_gather(struct gauge_slices *slices, const struct fields *fields, int t) {
    const struct lattice *lattice = slices->lattice;
    const int *length = lattice->local;
    unsigned char *out = slices->part;
    int local[DIRECTIONS] = {0, 0, 0, t % length[3]};
    if (has_part(lattice, t))
        for (local[2] = 0; local[2] < length[2]; local[2]++)
            for (local[1] = 0; local[1] < length[1]; local[1]++)
                for (local[0] = 0; local[0] < length[0]; local[0]++, out += slices->site_bytes)
                    site_write(lattice, fields, local, out);
    exchange_parts(slices, t, 1);
}

void gauge_slices_scatter(struct gauge_slices *slices, struct fields *fields, int t) {
    const struct lattice *lattice = slices->lattice;
    exchange_parts(slices, t, 0);
    if (!has_part(lattice, t))
        return;
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            int local[DIRECTIONS];
            lattice_local(lattice, site, lane, local);
            if (local[3] != t % lattice->local[3])
                continue;
            size_t at = (size_t)(local[2] * lattice->local[1] + local[1]);
            at = at * (size_t)lattice->local[0] + (size_t)local[0];
            site_read(slices, fields, site, lane, slices->part + at * slices->site_bytes);
        }
}
