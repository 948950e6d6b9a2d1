/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <stdlib.h>

const struct kernel *const kernels[KERNELS] = {
    &stream_kernel,       &dgemm_kernel,      &hpl_kernel,   &linpack_100_kernel,
    &linpack_1000_kernel, &arithmetic_kernel, &sieve_kernel, &floatmath_kernel,
    &dhrystone_kernel,    &whetstone_kernel,  &memory_kernel};

void *kernel_prepare(const struct kernel *kernel, const struct node_settings *settings) {
    return kernel->prepare ? kernel->prepare(settings) : calloc(1, kernel->bytes);
}

int kernel_parts(const struct kernel *kernel, const void *state, struct part *parts) {
    parts[0] = kernel->part;
    return kernel->parts ? kernel->parts(state, parts) : 1;
}
