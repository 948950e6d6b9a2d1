/* SPDX-License-Identifier: Apache-2.0 */
#include "halo.h"

#include "assay/clock.h"
#include "halo_plan.h"
#include "memory.h"

#include <string.h>

enum { MATRICES = 3 }; /* a face site */

const char *const halo_mode_names[HALO_MODES] = {"isend", "ssend", "persistent"};

/* The m-th link other than the one along direction d. */
static int other_link(int m, int d) { return m < d ? m : m + 1; }

/* Number of the m-th matrix of a vector site in its field … */
static size_t source_item(const struct lattice *lattice, enum halo_kind kind, int d, int site,
                          int m) {
    return (size_t)(kind == HALO_LINKS ? DIRECTIONS * (long)site + other_link(m, d)
                                       : lattice->own_staple[DIRECTIONS * site + d] + m);
}

/* … and of the number-th slot of the halo. */
static size_t slot_item(const struct lattice *lattice, enum halo_kind kind, int d, int number,
                        int m) {
    long slot = lattice_slot(lattice, d, number);
    return (size_t)(kind == HALO_LINKS ? DIRECTIONS * slot + other_link(m, d)
                                       : lattice->staples + 3 * (slot - lattice->volume) + m);
}

static real *field_of(struct fields *fields, enum halo_kind kind) {
    return kind == HALO_LINKS ? fields->links : fields->staples;
}

/* ---- copying ---- */

static void pack(const struct halo *halo, enum halo_kind kind, int d, const real *field) {
    const struct lattice *lattice = halo->lattice;
    const struct halo_plan *plan = &halo->plans[kind][d];
    const size_t reals = (size_t)LINK_REALS * (size_t)lattice->lanes;
    real *out = plan->out;
    if (plan->in_place)
        return;
    for (int number = 0; number < lattice->face[d]; number++) {
        int site = lattice_face_site(lattice, d, number, plan->sent_depth);
        for (int m = 0; m < MATRICES; m++, out += LINK_REALS * plan->sent_count) {
            const real *matrix = field + source_item(lattice, kind, d, site, m) * reals;
            if (plan->sent_count == lattice->lanes)
                memcpy(out, matrix, reals * sizeof *out);
            else
                for (int e = 0; e < LINK_REALS; e++)
                    for (int i = 0; i < plan->sent_count; i++)
                        out[e * plan->sent_count + i] = matrix[e * lattice->lanes + plan->sent[i]];
        }
    }
}

static void unpack(const struct halo *halo, enum halo_kind kind, int d, real *field) {
    const struct lattice *lattice = halo->lattice;
    const struct halo_plan *plan = &halo->plans[kind][d];
    const size_t reals = (size_t)LINK_REALS * (size_t)lattice->lanes;
    const real *in = plan->in;
    if (plan->in_place)
        return;
    for (int number = 0; number < lattice->face[d]; number++)
        for (int m = 0; m < MATRICES; m++, in += LINK_REALS * plan->sent_count) {
            real *matrix = field + slot_item(lattice, kind, d, number, m) * reals;
            if (plan->sent_count == lattice->lanes)
                memcpy(matrix, in, reals * sizeof *in);
            else
                for (int e = 0; e < LINK_REALS; e++)
                    for (int lane = 0; lane < lattice->lanes; lane++)
                        if (plan->remote_place[lane] >= 0)
                            matrix[e * lattice->lanes + lane] =
                                in[e * plan->sent_count + plan->remote_place[lane]];
        }
}

/* Overlapping blocks: every lane has its own source depth. */
static void fill_by_lane(const struct halo *halo, enum halo_kind kind, int d, int number,
                         real *field) {
    const struct lattice *lattice = halo->lattice;
    const struct halo_plan *plan = &halo->plans[kind][d];
    for (int lane = 0; lane < lattice->lanes; lane++) {
        int site = lattice_face_site(lattice, d, number, plan->depth[lane]);
        for (int m = 0; m < MATRICES; m++) {
            su3 matrix;
            field_get(lattice, field, source_item(lattice, kind, d, site, m), plan->source[lane],
                      &matrix);
            field_put(lattice, field, slot_item(lattice, kind, d, number, m), lane, &matrix);
        }
    }
}

/* The halo slots first … last-1 of the face that have a local source. */
static void fill_locally(const struct halo *halo, enum halo_kind kind, int d, int first, int last,
                         real *field) {
    const struct lattice *lattice = halo->lattice;
    const struct halo_plan *plan = &halo->plans[kind][d];
    const size_t reals = (size_t)LINK_REALS * (size_t)lattice->lanes;
    if (!plan->any_local)
        return;
    for (int number = first; number < last; number++) {
        if (!plan->same_depth) {
            fill_by_lane(halo, kind, d, number, field);
            continue;
        }
        int site = lattice_face_site(lattice, d, number, plan->depth[0]);
        for (int m = 0; m < MATRICES; m++)
            halo->kernels->move_lanes(field + slot_item(lattice, kind, d, number, m) * reals,
                                      field + source_item(lattice, kind, d, site, m) * reals,
                                      plan->source, LINK_REALS);
    }
}

void halo_line(struct halo *halo, enum halo_kind kind, int d, int line, struct fields *fields) {
    const int width = lattice_places(halo->lattice, d);
    if (!halo->lattice->has_halo[d])
        return;
    double start = timing_monotonic();
    fill_locally(halo, kind, d, line * width, (line + 1) * width, field_of(fields, kind));
    halo->count.packing_s += timing_monotonic() - start;
}

void halo_slice(struct halo *halo, enum halo_kind kind, int t, struct fields *fields) {
    for (int d = 0; d < DIRECTIONS - 1; d++) {
        int lines =
            halo->lattice->face[d] / lattice_places(halo->lattice, d) / halo->lattice->sub[3];
        for (int line = t * lines; line < (t + 1) * lines; line++)
            halo_line(halo, kind, d, line, fields);
    }
}

/* ---- messages ---- */

void halo_start(struct halo *halo, enum halo_kind kind, struct fields *fields) {
    struct halo_plan *plans = halo->plans[kind];
    real *field = field_of(fields, kind);
    double time[4] = {timing_monotonic()};
    for (int d = 0; d < DIRECTIONS; d++) {
        struct halo_plan *plan = &plans[d];
        if (!plan->remote)
            continue;
        if (halo->mode == HALO_PERSISTENT)
            MPI_Start(&plan->requests[0]);
        else
            MPI_Irecv(plan->in, (int)plan->numbers, REAL_MPI, plan->from, plan->tag, halo->comm,
                      &plan->requests[0]);
    }
    time[1] = timing_monotonic();
    for (int d = 0; d < DIRECTIONS; d++)
        if (plans[d].remote)
            pack(halo, kind, d, field);
    time[2] = timing_monotonic();
    for (int d = 0; d < DIRECTIONS; d++) {
        struct halo_plan *plan = &plans[d];
        if (!plan->remote)
            continue;
        if (halo->mode == HALO_PERSISTENT)
            MPI_Start(&plan->requests[1]);
        else if (halo->mode == HALO_SSEND)
            MPI_Ssend(plan->out, (int)plan->numbers, REAL_MPI, plan->to, plan->tag, halo->comm);
        else
            MPI_Isend(plan->out, (int)plan->numbers, REAL_MPI, plan->to, plan->tag, halo->comm,
                      &plan->requests[1]);
        halo->count.messages++;
        halo->count.bytes += plan->numbers * (long)sizeof(real);
    }
    time[3] = timing_monotonic();
    for (int d = 0; d < DIRECTIONS; d++)
        if (halo->lattice->has_halo[d] && (d == 3 || !halo->lattice->by_slice))
            fill_locally(halo, kind, d, 0, halo->lattice->face[d], field);
    halo->count.communication_s += (time[1] - time[0]) + (time[3] - time[2]);
    halo->count.packing_s += (time[2] - time[1]) + (timing_monotonic() - time[3]);
}

void halo_finish(struct halo *halo, enum halo_kind kind, struct fields *fields) {
    struct halo_plan *plans = halo->plans[kind];
    for (int d = 0; d < DIRECTIONS; d++) {
        MPI_Status status;
        double start = timing_monotonic();
        if (!plans[d].remote)
            continue;
        MPI_Wait(&plans[d].requests[0], &status);
        double arrived = timing_monotonic();
        unpack(halo, kind, d, field_of(fields, kind));
        double unpacked = timing_monotonic();
        if (halo->mode != HALO_SSEND)
            MPI_Wait(&plans[d].requests[1], &status);
        halo->count.communication_s += (arrived - start) + (timing_monotonic() - unpacked);
        halo->count.packing_s += unpacked - arrived;
    }
}

/* Where the messages of a plan lie. Staples of a time slice, and the slots that they come into, are
 * stored as in the message, if all lanes are sent. 0, or -1 if out of memory. */
static int message_buffers(struct halo_plan *plan, const struct lattice *lattice,
                           const struct fields *fields, enum halo_kind kind, int d) {
    const size_t reals = (size_t)LINK_REALS * (size_t)lattice->lanes;
    if (!plan->remote)
        return 0;
    plan->in_place =
        kind == HALO_STAPLES && lattice->by_slice && plan->sent_count == lattice->lanes;
    if (plan->in_place) {
        int site = lattice_face_site(lattice, d, 0, plan->sent_depth);
        plan->out = fields->staples + source_item(lattice, kind, d, site, 0) * reals;
        plan->in = fields->staples + slot_item(lattice, kind, d, 0, 0) * reals;
    } else {
        plan->out = memory_take((size_t)plan->numbers * sizeof(real));
        plan->in = memory_take((size_t)plan->numbers * sizeof(real));
    }
    return plan->in && plan->out ? 0 : -1;
}

int halo_make(struct halo *halo, const struct lattice *lattice, const struct fields *fields,
              const struct kernels *kernels, enum halo_mode mode, MPI_Comm comm) {
    int result = 0;
    memset(halo, 0, sizeof *halo);
    halo->lattice = lattice;
    halo->kernels = kernels;
    halo->mode = mode;
    MPI_Comm_dup(comm, &halo->comm);
    for (int kind = 0; kind < HALO_KINDS; kind++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct halo_plan *plan = &halo->plans[kind][d];
            if (!lattice->has_halo[d])
                continue;
            halo_plan_make(plan, lattice, (enum halo_kind)kind, d);
            if (message_buffers(plan, lattice, fields, (enum halo_kind)kind, d) != 0)
                result = -1;
            else if (plan->remote && mode == HALO_PERSISTENT) {
                MPI_Recv_init(plan->in, (int)plan->numbers, REAL_MPI, plan->from, plan->tag,
                              halo->comm, &plan->requests[0]);
                MPI_Send_init(plan->out, (int)plan->numbers, REAL_MPI, plan->to, plan->tag,
                              halo->comm, &plan->requests[1]);
            }
        }
    return result;
}

void halo_free(struct halo *halo) {
    for (int kind = 0; kind < HALO_KINDS; kind++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct halo_plan *plan = &halo->plans[kind][d];
            if (plan->remote && halo->mode == HALO_PERSISTENT) {
                MPI_Request_free(&plan->requests[0]);
                MPI_Request_free(&plan->requests[1]);
            }
            if (plan->in_place)
                continue;
            memory_return(plan->in);
            memory_return(plan->out);
        }
    MPI_Comm_free(&halo->comm);
}
