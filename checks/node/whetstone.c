/* SPDX-License-Identifier: Apache-2.0 */
/* Whetstone after its published definition (H. J. Curnow, B. A. Wichmann, A synthetic benchmark,
 * The Computer Journal 19(1), 1976): the modules with a weight above zero, together one million
 * Whetstone instructions. */
#include "kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T 0.499975
#define T1 0.50025
#define T2 2.0
#define SCALE 10 /* executions of each module = its weight × this: one million instructions */

#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif

struct whetstone {
    double array[4], procedure[4]; /* modules 2 and 3 */
    int jump;                      /* module 4 */
    double integers[3];            /* module 6: j, k, l after the loop */
    double sum, product;           /* module 6: the two array elements */
    double angle_x, angle_y;       /* module 7 */
    double call;                   /* module 8 */
    double references[3];          /* module 9 */
    double standard;               /* module 11 */
};

static void array_elements(double *e) {
    e[0] = (e[0] + e[1] + e[2] - e[3]) * T;
    e[1] = (e[0] + e[1] - e[2] + e[3]) * T;
    e[2] = (e[0] - e[1] + e[2] + e[3]) * T;
    e[3] = (-e[0] + e[1] + e[2] + e[3]) * T;
}

APART static void array_as_parameter(double *e) {
    for (int j = 0; j < 6; j++) {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * T;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * T;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * T;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / T2;
    }
}

static int conditional_jumps(int count) {
    int j = 1;
    for (int i = 0; i < count; i++) {
        j = j == 1 ? 2 : 3;
        KEEP_INTEGER(j);
        j = j > 2 ? 0 : 1;
        KEEP_INTEGER(j);
        j = j < 1 ? 1 : 0;
        KEEP_INTEGER(j);
    }
    return j;
}

static void integer_arithmetic(struct whetstone *w, int count) {
    int j = 1, k = 2, l = 3;
    double e[4] = {0, 0, 0, 0};
    for (int i = 0; i < count; i++) {
        j = j * (k - j) * (l - k);
        k = l * k - (l - j) * k;
        l = (l - k) * (k + j);
        KEEP_INTEGER(j);
        KEEP_INTEGER(k);
        KEEP_INTEGER(l);
        e[(l - 2) & 3] = j + k + l;
        e[(k - 2) & 3] = j * k * l;
    }
    w->integers[0] = j;
    w->integers[1] = k;
    w->integers[2] = l;
    w->sum = e[1];
    w->product = e[0];
}

static void trigonometric(struct whetstone *w, int count) {
    double x = 0.5, y = 0.5;
    for (int i = 0; i < count; i++) {
        x = T * atan(T2 * sin(x) * cos(x) / (cos(x + y) + cos(x - y) - 1));
        y = T * atan(T2 * sin(y) * cos(y) / (cos(x + y) + cos(x - y) - 1));
    }
    w->angle_x = x;
    w->angle_y = y;
}

APART static void procedure(double x, double y, double *z) {
    double first = T * (x + y), second = T * (first + y);
    *z = (first + second) / T2;
    KEEP_REAL(*z);
}

APART static void references(double *e, int j, int k, int l) {
    e[j] = e[k];
    e[k] = e[l];
    e[l] = e[j];
}

static double standard_functions(int count) {
    double x = 0.75;
    for (int i = 0; i < count; i++)
        x = sqrt(exp(log(x) / T1));
    return x;
}

static double run(void *state, int part) {
    struct whetstone *w = state;
    (void)part;
    for (int i = 0; i < 12 * SCALE; i++)
        array_elements(w->array);
    for (int i = 0; i < 14 * SCALE; i++)
        array_as_parameter(w->procedure);
    w->jump = conditional_jumps(345 * SCALE);
    integer_arithmetic(w, 210 * SCALE);
    trigonometric(w, 32 * SCALE);
    for (int i = 0; i < 899 * SCALE; i++)
        procedure(1, 1, &w->call);
    for (int i = 0; i < 616 * SCALE; i++)
        references(w->references, 0, 1, 2);
    w->standard = standard_functions(93 * SCALE);
    return 0;
}

static void restore(void *state, int part) {
    static const double start[4] = {1, -1, -1, -1};
    struct whetstone *w = state;
    (void)part;
    memset(w, 0, sizeof *w);
    memcpy(w->array, start, sizeof start);
    memcpy(w->procedure, start, sizeof start);
    for (int i = 0; i < 3; i++)
        w->references[i] = i + 1;
}

static int near(double found, double expected, double relative) {
    return fabs(found - expected) <= relative * fabs(expected);
}

/* 1 if e has the same bits as the array module computed through volatile memory. */
static int same_array(const double *e, int turns, double last_factor) {
    volatile double v[4] = {1, -1, -1, -1};
    for (int i = 0; i < turns; i++) {
        v[0] = (v[0] + v[1] + v[2] - v[3]) * T;
        v[1] = (v[0] + v[1] - v[2] + v[3]) * T;
        v[2] = (v[0] - v[1] + v[2] + v[3]) * T;
        v[3] = (-v[0] + v[1] + v[2] + v[3]) * last_factor;
    }
    return e[0] == v[0] && e[1] == v[1] && e[2] == v[2] && e[3] == v[3];
}

/* Module 7 slowly approaches a fixed point of x = T·atan(2 sin x cos x / (cos 2x)) near 1/2; module
 * 11 multiplies the logarithm by 1/(2·T1) in each step. */
static int verify(void *state, char *message, size_t size) {
    const struct whetstone *w = state;
    const char *wrong = NULL;
    double first = T * 2, second = T * (first + 1);
    if (!same_array(w->array, 12 * SCALE, T))
        wrong = "2 (array elements)";
    else if (!same_array(w->procedure, 6 * 14 * SCALE, 1 / T2))
        wrong = "3 (array as parameter)";
    else if (w->jump != 1)
        wrong = "4 (conditional jumps)";
    else if (w->integers[0] != 1 || w->integers[1] != 2 || w->integers[2] != 3 || w->sum != 6 ||
             w->product != 6)
        wrong = "6 (integer arithmetic)";
    else if (!near(w->angle_x, w->angle_y, 1e-3) || !(w->angle_x > 0.48 && w->angle_x < 0.5))
        wrong = "7 (trigonometric functions)";
    else if (!near(w->call, (first + second) / 2, 1e-14))
        wrong = "8 (procedure calls)";
    else if (w->references[0] != 3 || w->references[1] != 2 || w->references[2] != 3)
        wrong = "9 (array references)";
    else if (!near(w->standard, exp(log(0.75) * pow(2 * T1, -93 * SCALE)), 1e-10))
        wrong = "11 (standard functions)";
    if (wrong)
        snprintf(message, size, "Whetstone: module %s has a wrong result", wrong);
    return !wrong;
}

static void corrupt(void *state) { ((struct whetstone *)state)->standard *= 1 + 1e-8; }

const struct kernel whetstone_kernel =
    KERNEL_TIMED("whetstone", struct whetstone, restore, run, verify, corrupt);
