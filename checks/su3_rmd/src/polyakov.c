/* SPDX-License-Identifier: Apache-2.0 */
#include "polyakov.h"

#include "clock.h"

#include <string.h>

enum { TAG = 64 };

/* Lines are held in vectors of `lanes` points of space. If t is not split into lanes, these are
 * the vector sites of the first time slice and links are used where they lie; else points are
 * numbered x + lx(y + ly z), `lanes` of them a vector, and links are collected one by one. */
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

/* One vector more than lines: a place to collect links in. */
size_t polyakov_numbers(const struct lattice *lattice) {
    return matrix_numbers(lattice) * ((size_t)vectors(lattice) + 1);
}

static void collect_link(const struct lattice *lattice, const struct fields *fields, int point,
                         int t, int to_lane, real *out) {
    int site, lane, last = points(lattice) - 1;
    if (point > last)
        point = last;
    const int local[DIRECTIONS] = {point % lattice->local[0],
                                   point / lattice->local[0] % lattice->local[1],
                                   point / lattice->local[0] / lattice->local[1], t};
    su3 link;
    lattice_find(lattice, local, &site, &lane);
    field_get(lattice, fields->links, (size_t)(DIRECTIONS * site + 3), lane, &link);
    field_put(lattice, out, 0, to_lane, &link);
}

/* The time links of vector `v` of lines at local time t; room holds one vector of matrices. */
static const real *time_links(const struct lattice *lattice, const struct fields *fields, int v,
                              int t, real *room) {
    if (in_place(lattice)) {
        size_t site = (size_t)t * (size_t)vectors(lattice) + (size_t)v;
        return fields->links + (DIRECTIONS * site + 3) * matrix_numbers(lattice);
    }
    for (int lane = 0; lane < lattice->lanes; lane++)
        collect_link(lattice, fields, v * lattice->lanes + lane, t, lane, room);
    return room;
}

static void multiply_lines(const struct simulation *simulation, int first, real *lines,
                           real *room) {
    const struct lattice *lattice = &simulation->lattice;
    const size_t numbers = matrix_numbers(lattice);
    for (int t = 0; t < lattice->local[3]; t++)
        for (int v = 0; v < vectors(lattice); v++) {
            real *line = lines + (size_t)v * numbers;
            const real *link = time_links(lattice, &simulation->fields, v, t, room);
            if (first && t == 0)
                memcpy(line, link, numbers * sizeof *line);
            else
                simulation->kernels->multiply(line, link);
        }
}

static int counts(const struct lattice *lattice, int v, int lane) {
    long number = (long)v * lattice->lanes + lane;
    return in_place(lattice) ? lattice->owned[number] : number < points(lattice);
}

static void add_traces(const struct lattice *lattice, const real *lines, struct sum sums[2]) {
    for (int v = 0; v < vectors(lattice); v++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            su3 line;
            if (!counts(lattice, v, lane))
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
    const size_t numbers = matrix_numbers(lattice) * (size_t)vectors(lattice);
    struct halo *halo = &simulation->halo;
    real *lines = simulation->scratch;
    MPI_Status status;
    double start = clock_now();
    if (!first)
        MPI_Recv(lines, (int)numbers, REAL_MPI, lattice_neighbour(lattice, 3, -1), TAG, halo->comm,
                 &status);
    double received = clock_now();
    multiply_lines(simulation, first, lines, lines + numbers);
    double multiplied = clock_now();
    if (!last) {
        MPI_Send(lines, (int)numbers, REAL_MPI, lattice_neighbour(lattice, 3, +1), TAG, halo->comm);
        halo->count.messages++;
        halo->count.bytes += (long)(numbers * sizeof *lines);
    }
    halo->count.communication_s += (received - start) + (clock_now() - multiplied);
    if (last)
        add_traces(lattice, lines, sums);
}
