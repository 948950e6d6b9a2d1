/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stdio.h>
#include <string.h>

extern const struct kernels kernels_plain, kernels_baseline;
#ifdef SU3_HAS_avx2
extern const struct kernels kernels_avx2;
#endif
#ifdef SU3_HAS_avx512
extern const struct kernels kernels_avx512;
#endif

const struct kernels *const kernels_all[] = {&kernels_plain, &kernels_baseline,
#ifdef SU3_HAS_avx2
                                             &kernels_avx2,
#endif
#ifdef SU3_HAS_avx512
                                             &kernels_avx512,
#endif
                                             NULL};

static int cpu_can(const char *name) {
#ifdef SU3_HAS_avx2
    if (strcmp(name, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#ifdef SU3_HAS_avx512
    if (strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
    return name[0] != '\0';
}

const struct kernels *kernels_select(const char *name, char *why, size_t size) {
    const struct kernels *best = NULL;
    for (int i = 0; kernels_all[i]; i++)
        if ((strcmp(name, "auto") == 0 || strcmp(name, kernels_all[i]->name) == 0) &&
            cpu_can(kernels_all[i]->name))
            best = kernels_all[i];
    size_t used = best ? size : (size_t)snprintf(why, size, "auto");
    for (int i = 0; !best && kernels_all[i]; i++)
        if (cpu_can(kernels_all[i]->name) && used < size)
            used += (size_t)snprintf(why + used, size - used, ", %s", kernels_all[i]->name);
    return best;
}

/* Flop of the vector kernels. A 3 x 3 complex product: 9 elements of 3 complex multiplications (6
 * flop) and 2 additions (2 flop), 198. Twice the antihermitian part of a product: 6 reals of two
 * sums of 11 flop and one addition, and 3 of one sum, 171. Subtracting it from a momentum: 21. The
 * exponential: eps P 10, its square 48, trace and determinant 31, coefficients 18, the sum 108,
 * together 215. Reunitarising: 159. Fields: 72 reals of links, 32 of momenta, 216 of staples a
 * site; a field that is read and written counts twice. Not counted: the staples that a step by
 * slices computes twice (leapfrog.h), 6 of 24 products in one slice of all. */
const struct kernel_cost kernel_costs[COST_PARTS] = {
    [COST_FORCE] = {"force", 10872, 6 * (4 * 198 + 171 + 18) + 4 * 21, 72 + 2 * 32 + 216, 72 + 32,
                    "original: 4 links x (12 products of 198 + 5 sums of 18 + product 198 + 54 "
                    "for the projection); done: 6 planes x (4 products + 171 + 18) + 4 x 21, the "
                    "rest of the force stands in update"},
    [COST_UPDATE] = {"update", 5616, 4 * (36 + 171 + 21 + 215 + 198), 216 + 2 * 32 + 2 * 72,
                     72 + 32,
                     "original: 4 links x 1404 (7 products of 198 + 18); done: 4 links x (2 sums "
                     "of staples 36 + 171 + 21 + exponential 215 + product 198)"},
    [COST_REUNITARISE] = {"reunitarise", 624, 4 * 159, 0, 0,
                          "original: 4 links x 156; done: 4 links x 159, in the same pass as "
                          "update"},
    [COST_DRIFT] = {"drift", 5616, 4 * (215 + 198), 2 * 72 + 32, 2 * 72 + 32,
                    "one more update of the links a trajectory: exponential and product"},
    [COST_PLAQUETTE] = {"plaquette", 2592, 6 * (2 * 198 + 35) + 4, 72 + 2, 72 + 2,
                        "original: 6 planes x 432; done: 6 planes x (2 products + trace 35) + 4"},
};
