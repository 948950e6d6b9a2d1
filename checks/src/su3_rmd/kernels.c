/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stdio.h>
#include <string.h>

extern const struct kernels kernels_plain, kernels_baseline;
#ifdef SU3_X86
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

const struct kernels *const kernels_all[] = {&kernels_plain, &kernels_baseline,
#ifdef SU3_X86
                                             &kernels_avx2, &kernels_avx512,
#endif
                                             NULL};

static int cpu_can(const char *name) {
#ifdef SU3_X86
    if (strcmp(name, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
    return name[0] != '\0';
}

static void list_possible(char *why, size_t size) {
    size_t used = (size_t)snprintf(why, size, "auto");
    for (int i = 0; kernels_all[i]; i++)
        if (cpu_can(kernels_all[i]->name) && used < size)
            used += (size_t)snprintf(why + used, size - used, ", %s", kernels_all[i]->name);
}

const struct kernels *kernels_select(const char *name, char *why, size_t size) {
    const struct kernels *best = NULL;
    for (int i = 0; kernels_all[i]; i++)
        if ((strcmp(name, "auto") == 0 || strcmp(name, kernels_all[i]->name) == 0) &&
            cpu_can(kernels_all[i]->name))
            best = kernels_all[i];
    if (!best)
        list_possible(why, size);
    return best;
}

/* 3 x 3 complex product: 9 numbers of 3 complex multiplications (6 flop) and 2 additions (2 flop):
 * 198. The twofold antihermitian part of a product: 9 numbers, of which 6 need two sums of 11 flop
 * and one more, 3 one: 171. Fields: 72 reals of links, 32 of momenta, 216 of staples a site. */
const struct kernel_cost kernel_costs[COST_PARTS] = {
    [COST_FORCE] = {"force", 10872, 6 * (4 * 198 + 171 + 18) + 4 * 27, 72 + 2 * 32 + 216,
                    "original: 4 links x (12 products of 198 + 5 sums of 18 + 1 product of 198 + "
                    "54); done: 6 planes x (4 products + antihermitian part 171 + 18) + 4 x 27; "
                    "the lower staples' share is counted in update"},
    [COST_UPDATE] = {"update", 5616, 4 * (2 * 18 + 171 + 27 + 240 + 198), 216 + 2 * 32 + 2 * 72,
                     "original: 4 links x 7 x (198 + ...) = 4 x 1404; done: 4 links x (staples 36 "
                     "+ antihermitian part 171 + 27 + exponential by Cayley-Hamilton 240 + 198)"},
    [COST_REUNITARISE] = {"reunitarise", 624, 4 * 162, 0,
                          "original: 4 x 156; done: 4 x 162, in the same pass as update"},
    [COST_DRIFT] = {"drift", 5616, 4 * (240 + 198), 2 * 72 + 32,
                    "one more link update a trajectory"},
    [COST_PLAQUETTE] = {"plaquette", 2592, 6 * (2 * 198 + 35), 72 + 2,
                        "original: 6 planes x 432; done: 6 planes x (2 products + trace 35)"},
};
