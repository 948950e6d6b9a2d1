/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: one lane, one site at a time, written like the formulas. */
#include "kernels.h"
#include "random.h"

#include <string.h>

static su3 *link_at(const struct fields *fields, int slot, int direction) {
    return (su3 *)fields->links + (DIRECTIONS * slot + direction);
}

static real *momentum_at(const struct fields *fields, int site, int direction) {
    return fields->momenta + (size_t)(DIRECTIONS * site + direction) * MOMENTUM_REALS;
}

/* The lower staple of `link` for a step along `step`. */
static su3 *staple_at(const struct lattice *lattice, const struct fields *fields, int site,
                      int step, int link) {
    return (su3 *)fields->staples + lattice->own_staple[DIRECTIONS * site + step] + link -
           (link > step);
}

static void momentum_subtract(real *momentum, real scale, const su3 *product) {
    real part[MOMENTUM_REALS];
    su3_momentum(part, product);
    for (int i = 0; i < MOMENTUM_REALS; i++)
        momentum[i] -= scale * part[i];
}

static void plain_force(const struct lattice *lattice, struct fields *fields, real scale,
                        const int *sites, int count) {
    for (int i = 0; i < count; i++)
        for (int mu = 0; mu < DIRECTIONS; mu++)
            for (int nu = mu + 1; nu < DIRECTIONS; nu++) {
                const int site = sites[i], *ahead = lattice->ahead + DIRECTIONS * site;
                const su3 *u_mu = link_at(fields, site, mu), *u_nu = link_at(fields, site, nu);
                su3 a, b, plaquette;
                su3_mul(&a, u_mu, link_at(fields, ahead[mu], nu));
                su3_mul(&b, u_nu, link_at(fields, ahead[nu], mu));
                su3_mul_dag(&plaquette, &a, &b);
                momentum_subtract(momentum_at(fields, site, mu), scale, &plaquette);
                momentum_subtract(momentum_at(fields, site, nu), -scale, &plaquette);
                su3_dag_mul(staple_at(lattice, fields, site, nu, mu), u_nu, &a);
                su3_dag_mul(staple_at(lattice, fields, site, mu, nu), u_mu, &b);
            }
}

static void plain_time_staples(const struct lattice *lattice, struct fields *fields,
                               const int *sites, int count) {
    for (int i = 0; i < count; i++)
        for (int mu = 0; mu < 3; mu++) {
            const int site = sites[i], *ahead = lattice->ahead + DIRECTIONS * site;
            su3 a;
            su3_mul(&a, link_at(fields, site, mu), link_at(fields, ahead[mu], 3));
            su3_dag_mul(staple_at(lattice, fields, site, 3, mu), link_at(fields, site, 3), &a);
        }
}

static real plain_update(const struct lattice *lattice, struct fields *fields, real scale, real eps,
                         const int *sites, int count) {
    real worst = 0;
    for (int i = 0; i < count; i++)
        for (int mu = 0; mu < DIRECTIONS; mu++) {
            su3 *link = link_at(fields, sites[i], mu), product, sum; /* of the lower staples */
            real *momentum = momentum_at(fields, sites[i], mu);
            memset(&sum, 0, sizeof sum);
            for (int nu = 0; nu < DIRECTIONS; nu++)
                if (nu != mu) {
                    long at = lattice->behind_staple[DIRECTIONS * sites[i] + nu];
                    su3_add(&sum, (const su3 *)fields->staples + at + mu - (mu > nu));
                }
            su3_mul_dag(&product, link, &sum);
            momentum_subtract(momentum, scale, &product);
            su3_exp_mul(link, momentum, eps);
            real deviation = su3_reunitarise(link);
            if (!(deviation <= worst) && worst == worst)
                worst = deviation;
        }
    return worst;
}

static void plain_drift(const struct lattice *lattice, struct fields *fields, real eps) {
    for (int site = 0; site < lattice->volume; site++)
        for (int mu = 0; mu < DIRECTIONS; mu++)
            su3_exp_mul(link_at(fields, site, mu), momentum_at(fields, site, mu), eps);
}

static void plain_refresh(const struct lattice *lattice, struct fields *fields) {
    for (int site = 0; site < lattice->volume; site++) {
        struct generator generator;
        random_get(lattice, fields, site, 0, &generator);
        for (int mu = 0; mu < DIRECTIONS; mu++)
            random_momentum(&generator, momentum_at(fields, site, mu));
        random_put(lattice, fields, site, 0, &generator);
    }
}

static void plain_plaquettes(const struct lattice *lattice, const struct fields *fields, real *out,
                             const int *sites, int count) {
    for (int i = 0; i < count; i++) {
        const int site = sites[i], *ahead = lattice->ahead + DIRECTIONS * site;
        real *sums = out + 2L * site;
        sums[0] = sums[1] = 0;
        for (int mu = 0; mu < DIRECTIONS; mu++)
            for (int nu = mu + 1; nu < DIRECTIONS; nu++) {
                su3 a, b;
                su3_mul(&a, link_at(fields, site, mu), link_at(fields, ahead[mu], nu));
                su3_mul(&b, link_at(fields, site, nu), link_at(fields, ahead[nu], mu));
                sums[nu == 3] += su3_trace_re_dag(&a, &b);
            }
    }
}

static void plain_multiply(real *line, const real *link) {
    su3 product;
    su3_mul(&product, (const su3 *)line, (const su3 *)link);
    memcpy(line, &product, sizeof product);
}

static void plain_move_lanes(real *to, const real *from, const int *source, int count) {
    (void)source;
    memcpy(to, from, (size_t)count * sizeof *to);
}

const struct kernels kernels_plain = {"plain",        1,
                                      plain_force,    plain_time_staples,
                                      plain_update,   plain_drift,
                                      plain_refresh,  plain_plaquettes,
                                      plain_multiply, plain_move_lanes};
