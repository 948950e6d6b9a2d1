/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the node program: tuned against plain, every result verified, every fault found.
 */
#include "kernel.h"
#include "multiply.h"
#include "proof/proof.h"
#include "solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double greatest_difference(const double *a, const double *b, size_t count) {
    double greatest = 0;
    for (size_t i = 0; i < count; i++)
        greatest = fmax(greatest, fabs(a[i] - b[i]));
    return greatest;
}

static void products_agree(int n) {
    size_t count = (size_t)n * (size_t)n;
    double *memory = malloc((4 * count + 3 * (size_t)n) * sizeof *memory);
    double *a = memory, *b = a + count, *c = b + count, *plain = c + count, *work = plain + count;
    random_doubles(a, count, 1);
    random_doubles(b, count, 2);
    multiply_blas(n, a, b, c);
    multiply_plain(n, a, b, plain);
    proof_true("DGEMM as plain loops", greatest_difference(c, plain, count) < 1e-13 * n);
    proof_true("product accepted", multiply_error(n, a, b, c, work) < 1);
    c[count / 2] += 1e-6;
    proof_true("one wrong element refused", multiply_error(n, a, b, c, work) > 1);
    c[count / 2] = NAN;
    proof_true("NaN refused", !(multiply_error(n, a, b, c, work) < 1));
    free(memory);
}

static void solutions_agree(int n) {
    size_t order = (size_t)n, count = order * order;
    double *memory = malloc((2 * count + 3 * order) * sizeof *memory);
    double *matrix = memory, *work = matrix + count, *right = work + count, *x = right + order,
           *y = x + order;
    random_doubles(matrix, count, 3);
    random_doubles(right, order, 4);
    memcpy(work, matrix, count * sizeof *work);
    memcpy(x, right, order * sizeof *x);
    proof_true("plain solution found", solve_plain(n, work, x) == 0);
    memcpy(work, matrix, count * sizeof *work);
    memcpy(y, right, order * sizeof *y);
    proof_true("LAPACK's solution found", solve_lapack(n, work, y) == 0);
    proof_true("plain residual", solve_residual(n, matrix, right, x) < 16);
    proof_true("LAPACK's residual", solve_residual(n, matrix, right, y) < 16);
    proof_true("both agree", greatest_difference(x, y, order) < 1e-8);
    x[0] *= 1 + 1e-6;
    proof_true("a wrong answer refused", solve_residual(n, matrix, right, x) > 16);
    memset(work, 0, count * sizeof *work);
    proof_true("a singular matrix refused", solve_plain(n, work, y) != 0);
    free(memory);
}

static void run_twice(const struct kernel *kernel, void *state) {
    struct part parts[PARTS];
    int count = kernel_parts(kernel, state, parts);
    for (int repetition = 0; repetition < 2; repetition++)
        for (int i = 0; i < count; i++) {
            if (kernel->restore)
                kernel->restore(state, i);
            kernel->run(state, i);
        }
}

static void kernel_is_proved(const struct kernel *kernel) {
    struct node_settings settings = {80000, 65, 77, 4 << 20, 1, 2, 5};
    char message[512] = "";
    void *state = kernel_prepare(kernel, &settings);
    proof_true(kernel->name, state != NULL);
    run_twice(kernel, state);
    proof_true("right result accepted", kernel->verify(state, message, sizeof message));
    kernel->corrupt(state);
    proof_true("fault found", !kernel->verify(state, message, sizeof message));
    proof_true("fault explained", strlen(message) > 10);
    kernel->release(state);
}

/* More turns than the arrays survive without being reset. */
static void stream_does_not_overflow(void) {
    struct node_settings settings = {8192, 16, 16, 1 << 20, 1, 500, 5};
    char message[512] = "";
    void *state = stream_kernel.prepare(&settings);
    for (int turn = 0; turn < 250; turn++)
        run_twice(&stream_kernel, state);
    proof_true("STREAM after 500 turns", stream_kernel.verify(state, message, sizeof message));
    stream_kernel.release(state);
}

int main(void) {
    for (int n = 1; n < 200; n = n * 3 + 1) {
        products_agree(n);
        solutions_agree(n);
    }
    for (size_t i = 0; i < KERNELS; i++)
        kernel_is_proved(kernels[i]);
    stream_does_not_overflow();
    return proof_status();
}
