/* SPDX-License-Identifier: Apache-2.0 */
#include "leapfrog.h"

#include <math.h>

/* The parameters of a step, and the greatest deviation from unitarity so far. */
struct step {
    struct simulation *simulation;
    real scale, eps; /* of `force` and `update` */
    double deviation;
};

static void force(struct step *step, const int *sites, int count) {
    struct simulation *s = step->simulation;
    s->kernels->force(&s->lattice, &s->fields, step->scale, sites, count);
}

static void update(struct step *step, const int *sites, int count) {
    struct simulation *s = step->simulation;
    real found = s->kernels->update(&s->lattice, &s->fields, step->scale, step->eps, sites, count);
    if (!((double)found <= step->deviation) && !isnan(step->deviation))
        step->deviation = (double)found;
}

static void start(struct step *step, enum halo_kind kind) {
    halo_start(&step->simulation->halo, kind, &step->simulation->fields);
}

static void finish(struct step *step, enum halo_kind kind) {
    halo_finish(&step->simulation->halo, kind, &step->simulation->fields);
}

/* ---- whole passes ---- */

static void step_by_passes(struct step *step) {
    const struct lattice *lattice = &step->simulation->lattice;
    const int ahead = step->simulation->overlap ? lattice->inner_ahead_count : 0;
    const int behind = step->simulation->overlap ? lattice->inner_behind_count : 0;
    start(step, HALO_LINKS);
    force(step, lattice->inner_ahead, ahead);
    finish(step, HALO_LINKS);
    force(step, lattice->inner_ahead + ahead, lattice->volume - ahead);
    start(step, HALO_STAPLES);
    update(step, lattice->inner_behind, behind);
    finish(step, HALO_STAPLES);
    update(step, lattice->inner_behind + behind, lattice->volume - behind);
}

/* ---- time slices ---- */

enum { ROW = 1, SLAB, SLICE }; /* lattice_places */

static void force_at(struct step *step, int part, int number) {
    const struct lattice *lattice = &step->simulation->lattice;
    const int places = lattice_places(lattice, part);
    force(step, lattice->in_order + (long)number * places, places);
}

static void update_at(struct step *step, int part, int number) {
    const struct lattice *lattice = &step->simulation->lattice;
    const int places = lattice_places(lattice, part);
    update(step, lattice->in_order + (long)number * places, places);
}

/* A slice whose links are changed later. */
static void slice_force(struct step *step, int t) {
    struct simulation *s = step->simulation;
    halo_slice(&s->halo, HALO_LINKS, t, &s->fields);
    force_at(step, SLICE, t);
    halo_slice(&s->halo, HALO_STAPLES, t, &s->fields);
}

static void slab_step(struct step *step, int slab, int is_first) {
    struct simulation *s = step->simulation;
    const int rows = s->lattice.sub[1], first = slab * rows;
    for (int row = first; row < first + rows; row++) {
        force_at(step, ROW, row);
        halo_line(&s->halo, HALO_STAPLES, 0, row, &s->fields);
        if (!is_first && row > first)
            update_at(step, ROW, row);
    }
    halo_line(&s->halo, HALO_STAPLES, 1, slab, &s->fields);
    if (!is_first)
        update_at(step, ROW, first);
}

/* A slice whose staples behind are there, row by row. */
static void slice_step(struct step *step, int t) {
    struct simulation *s = step->simulation;
    const int slabs = s->lattice.sub[2], first = t * slabs;
    halo_slice(&s->halo, HALO_LINKS, t, &s->fields);
    for (int slab = first; slab < first + slabs; slab++)
        slab_step(step, slab, slab == first);
    halo_line(&s->halo, HALO_STAPLES, 2, t, &s->fields);
    update_at(step, SLAB, first);
}

/* The staples of the last slice that the slice ahead of it waits for. */
static void last_staples(struct step *step) {
    struct simulation *s = step->simulation;
    const int last = s->lattice.sub[3] - 1, places = lattice_places(&s->lattice, SLICE);
    halo_slice(&s->halo, HALO_LINKS, last, &s->fields);
    s->kernels->time_staples(&s->lattice, &s->fields, s->lattice.in_order + (long)last * places,
                             places);
}

/* Messages leave before the slices. With overlap, the first slice is updated after all others, so
 * that both messages are in flight for most of the step. */
static void step_by_slices(struct step *step) {
    const struct lattice *lattice = &step->simulation->lattice;
    const int last = lattice->sub[3] - 1;
    const int overlap = step->simulation->overlap && lattice->procs[3] > 1;
    start(step, HALO_LINKS);
    last_staples(step);
    start(step, HALO_STAPLES);
    if (overlap) {
        slice_force(step, 0);
    } else {
        finish(step, HALO_LINKS);
        finish(step, HALO_STAPLES);
        slice_step(step, 0);
    }
    for (int t = 1; t < last; t++)
        slice_step(step, t);
    if (overlap) {
        finish(step, HALO_LINKS);
        finish(step, HALO_STAPLES);
    }
    slice_step(step, last);
    if (overlap)
        update_at(step, SLICE, 0);
}

double leapfrog(struct simulation *simulation, const struct physics *physics) {
    const real eps = (real)physics->epsilon;
    struct step step = {simulation, (real)(physics->epsilon * physics->beta / 3), eps, 0};
    simulation->kernels->drift(&simulation->lattice, &simulation->fields, eps / 2);
    for (int number = 1; number <= physics->steps; number++) {
        if (number == physics->steps)
            step.eps = eps / 2;
        if (simulation->lattice.by_slice)
            step_by_slices(&step);
        else
            step_by_passes(&step);
    }
    simulation->work.drifts++;
    simulation->work.steps += physics->steps;
    return step.deviation;
}
