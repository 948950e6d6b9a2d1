/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the node program: tuned against plain, every result verified, every fault found.
 */
#define _GNU_SOURCE /* mkdtemp, setenv, nftw */
#include "assay/usage.h"
#include "available.h"
#include "kernel.h"
#include "multiply.h"
#include "proof/proof.h"
#include "solve.h"

#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *place) {
    (void)found;
    (void)kind;
    (void)place;
    return remove(path);
}

static void write_file(const char *root, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

/* In a folder that stands for /: the kernel's word, then limits of control groups, then Slurm's. */
static void limits_are_heeded(void) {
    static const char *const folders[] = {"proc",
                                          "proc/self",
                                          "sys",
                                          "sys/fs",
                                          "sys/fs/cgroup",
                                          "sys/fs/cgroup/job",
                                          "sys/fs/cgroup/job/step"};
    char root[] = "/tmp/assay-available-XXXXXX", path[512];
    const long long megabyte = 1 << 20;
    unsetenv("SLURM_MEM_PER_NODE");
    proof_true("folder for limits", mkdtemp(root) != NULL);
    proof_true("nothing that can be read limits nothing",
               available_bytes(root, 0, 1) == LLONG_MAX && total_bytes(root) == 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        mkdir(path, 0700);
    }
    write_file(root, "proc/meminfo", "MemTotal: 1024000 kB\nMemAvailable:  512000 kB\n");
    proof_deviation("what the kernel has, less the reserve",
                    (double)available_bytes(root, 7, 1) / 1024, 512000 - 0.03 * 1024000, 1);
    write_file(root, "proc/self/cgroup", "0::/job/step\n");
    write_file(root, "sys/fs/cgroup/job/step/memory.max", "max\n");
    write_file(root, "sys/fs/cgroup/job/step/memory.current", "1048576\n");
    proof_deviation("no limit of a control group", (double)available_bytes(root, 7, 1) / 1024,
                    512000 - 0.03 * 1024000, 1);
    write_file(root, "sys/fs/cgroup/job/memory.max", "104857600\n");
    write_file(root, "sys/fs/cgroup/job/memory.current", "4194304\n");
    proof_true("limit of an outer control group", available_bytes(root, 7, 1) == 96 * megabyte);
    setenv("SLURM_MEM_PER_NODE", "40", 1);
    proof_true("the share of what Slurm gave",
               available_bytes(root, 5 * megabyte, 4) == 5 * megabyte);
    proof_true("more than the share taken", available_bytes(root, 11 * megabyte, 4) == 0);
    unsetenv("SLURM_MEM_PER_NODE");
    nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Ten seconds of a machine whose loads are known. */
static void others_are_told_from_the_machine(void) {
    static const struct {
        const char *what;
        struct usage passed; /* wall, own, unused, withheld */
        int threads, processors;
        double others;
    } known[] = {
        {"alone", {10, 10, 0, 0}, 1, 1, 0},
        {"another program had half", {10, 5, 0, 0}, 1, 1, 5},
        {"a quota of half on an idle machine", {10, 5, 5, 5}, 1, 1, 0},
        {"a quota of half, which others used", {10, 5, 0, 5}, 1, 1, 0},
        {"a hypervisor kept a third", {10, 7, 3, 0}, 1, 1, 0},
        {"quota of half, half of the rest to others", {10, 2.5, 0, 5}, 1, 1, 2.5},
        {"threads of the job share a processor", {10, 10, 0, 0}, 2, 1, 0},
        {"two threads, another program on one", {10, 15, 0, 0}, 2, 2, 5},
        {"a free processor was left", {10, 5, 10, 0}, 1, 2, 0},
        {"the kernel does not say", {10, 5, -1, 0}, 1, 1, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        proof_deviation(known[i].what,
                        usage_others(&known[i].passed, known[i].threads, known[i].processors),
                        known[i].others, 1e-12);
}

int main(void) {
    limits_are_heeded();
    others_are_told_from_the_machine();
    for (int n = 1; n < 200; n = n * 3 + 1) {
        products_agree(n);
        solutions_agree(n);
    }
    for (size_t i = 0; i < KERNELS; i++)
        kernel_is_proved(kernels[i]);
    stream_does_not_overflow();
    return proof_status();
}
