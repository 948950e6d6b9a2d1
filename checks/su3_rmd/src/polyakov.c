/* SPDX-License-Identifier: Apache-2.0 */
#include "polyakov.h"

#include "assay/clock.h"

#include <string.h>

enum { TAG = 64 };

/* Lines are stored in vectors of `lanes` points of space. If t is not split into lanes, these are
 * the vector sites of the first time slice, and links are used in place; else points are numbered
 * x + lx(y + ly z), `lanes` of them in a vector, and links are copied one by one. */
static int in_place(const struct lattice *lattice) { return lattice->split[3] == 1; }

static int points(const struct lattice *lattice) {
    return lattice->local[0] * lattice->local[1] * lattice->local[2];
}

static int vectors(const struct lattice *lattice) {
    if (in_place(lattice))
        return lattice->volume / lattice->sub[3];
    return (points(lattice) + lattice->lanes - 1) / lattice->lanes;
}

static size_t matrix_numbers(const struct lattice *lattice) {
    return (size_t)LINK_REALS * (size_t)lattice->lanes;
}

/* One vector more than lines: for the copied links. */
size_t polyakov_numbers(const struct lattice *lattice) {
    return matrix_numbers(lattice) * ((size_t)vectors(lattice) + 1);
}

/* The time links of vector `v` of lines at local time t; room holds one vector of matrices. */
static const real *time_links(const struct lattice *lattice, const struct fields *fields, int v,
                              int t, real *room) {
    const int *length = lattice->local, last = points(lattice) - 1;
    if (in_place(lattice)) {
        size_t site = (size_t)t * (size_t)vectors(lattice) + (size_t)v;
        return fields->links + (DIRECTIONS * site + 3) * matrix_numbers(lattice);
    }
    for (int to_lane = 0; to_lane < lattice->lanes; to_lane++) {
        int site, lane, point = v * lattice->lanes + to_lane;
        su3 link;
        if (point > last)
            point = last;
        const int local[DIRECTIONS] = {point % length[0], point / length[0] % length[1],
                                       point / length[0] / length[1], t};
        lattice_find(lattice, local, &site, &lane);
        field_get(lattice, fields->links, (size_t)(DIRECTIONS * site + 3), lane, &link);
        field_put(lattice, room, 0, to_lane, &link);
    }
    return room;
}

/* Add the traces of the lines of this rank's points of space. */
static void add_traces(const struct lattice *lattice, const real *lines, struct sum sums[2]) {
    for (int v = 0; v < vectors(lattice); v++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            long number = (long)v * lattice->lanes + lane;
            su3 line;
            if (in_place(lattice) ? !lattice->owned[number] : number >= points(lattice))
                continue;
            field_get(lattice, lines, (size_t)v, lane, &line);
            sum_add(&sums[0],
                    (double)line.e[0][0].re + (double)line.e[1][1].re + (double)line.e[2][2].re);
            sum_add(&sums[1],
                    (double)line.e[0][0].im + (double)line.e[1][1].im + (double)line.e[2][2].im);
        }
}

void polyakov_lines(struct simulation *simulation, struct sum sums[2]) {
    const struct lattice *lattice = &simulation->lattice;
    const int first = lattice->place[3] == 0, last = lattice->place[3] == lattice->procs[3] - 1;
    const size_t matrix = matrix_numbers(lattice), numbers = matrix * (size_t)vectors(lattice);
    struct halo *halo = &simulation->halo;
    real *lines = simulation->scratch;
    MPI_Status status;
    double start = timing_monotonic();
    if (!first)
        MPI_Recv(lines, (int)numbers, REAL_MPI, lattice_neighbour(lattice, 3, -1), TAG, halo->comm,
                 &status);
    double received = timing_monotonic();
    for (int t = 0; t < lattice->local[3]; t++)
        for (int v = 0; v < vectors(lattice); v++) {
            real *line = lines + (size_t)v * matrix;
            const real *link = time_links(lattice, &simulation->fields, v, t, lines + numbers);
            if (first && t == 0)
                memcpy(line, link, matrix * sizeof *line);
            else
                simulation->kernels->multiply(line, link);
        }
    double multiplied = timing_monotonic();
    if (!last) {
        MPI_Send(lines, (int)numbers, REAL_MPI, lattice_neighbour(lattice, 3, +1), TAG, halo->comm);
        halo->count.messages++;
        halo->count.bytes += (long)(numbers * sizeof *lines);
    }
    halo->count.communication_s += (received - start) + (timing_monotonic() - multiplied);
    if (last)
        add_traces(lattice, lines, sums);
}
