/* SPDX-License-Identifier: Apache-2.0 */
/* Dhrystone 2.1 after its published definition (R. P. Weicker, CACM 27(10), 1984; ACM SIGPLAN
 * Notices 23(8), 1988): 50,000 executions of its mix of assignments, calls and strings. Procedures
 * are not inlined, as with separate compilation; all variables must end with the defined values. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 50000
#define STRING 31
#define SIDE 50

#if defined(__GNUC__)
#define APART __attribute__((noinline, noclone))
#else
#define APART
#endif

#if defined(__clang__)
#undef APART
#define APART __attribute__((noinline))
#endif

enum identity { IDENTITY_1, IDENTITY_2, IDENTITY_3, IDENTITY_4, IDENTITY_5 };

struct record {
    struct record *next;
    enum identity discriminant, chosen;
    int number;
    char text[STRING];
};

/* The global variables of the definition, and the local ones of its main loop. */
struct dhrystone {
    struct record first, second;
    struct record *record;
    int number, truth;
    char letter_1, letter_2;
    int array_1[SIDE], array_2[SIDE][SIDE];
    int local_1, local_2, local_3;
    enum identity local_identity;
    char text_1[STRING], text_2[STRING];
};

APART static enum identity function_1(struct dhrystone *d, char first, char second) {
    char copy = first;
    if (copy != second)
        return IDENTITY_1;
    d->letter_1 = copy;
    return IDENTITY_2;
}

APART static int function_2(struct dhrystone *d, const char *first, const char *second) {
    int index = 2;
    char letter = '\0';
    while (index <= 2)
        if (function_1(d, first[index], second[index + 1]) == IDENTITY_1) {
            letter = 'A';
            index++;
        }
    if (letter >= 'W' && letter < 'Z')
        index = 7;
    if (letter == 'R')
        return 1;
    if (strcmp(first, second) <= 0)
        return 0;
    d->number = index + 7;
    return 1;
}

APART static int function_3(enum identity identity) { return identity == IDENTITY_3; }

APART static void procedure_7(int first, int second, int *sum) { *sum = second + first + 2; }

APART static void procedure_6(const struct dhrystone *d, enum identity from, enum identity *to) {
    *to = function_3(from) ? from : IDENTITY_4;
    switch (from) {
    case IDENTITY_1:
        *to = IDENTITY_1;
        break;
    case IDENTITY_2:
        *to = d->number > 100 ? IDENTITY_1 : IDENTITY_4;
        break;
    case IDENTITY_3:
        *to = IDENTITY_2;
        break;
    case IDENTITY_4:
        break;
    case IDENTITY_5:
        *to = IDENTITY_3;
        break;
    }
}

APART static void procedure_3(struct dhrystone *d, struct record **to) {
    if (d->record)
        *to = d->record->next;
    procedure_7(10, d->number, &d->record->number);
}

APART static void procedure_1(struct dhrystone *d, struct record *record) {
    struct record *next = record->next;
    *record->next = *d->record;
    record->number = 5;
    next->number = record->number;
    next->next = record->next;
    procedure_3(d, &next->next);
    if (next->discriminant == IDENTITY_1) {
        next->number = 6;
        procedure_6(d, record->chosen, &next->chosen);
        next->next = d->record->next;
        procedure_7(next->number, 10, &next->number);
    } else {
        *record = *record->next;
    }
}

APART static void procedure_2(const struct dhrystone *d, int *number) {
    int local = *number + 10;
    enum identity identity = IDENTITY_2;
    do
        if (d->letter_1 == 'A') {
            local--;
            *number = local - d->number;
            identity = IDENTITY_1;
        }
    while (identity != IDENTITY_1);
}

APART static void procedure_4(struct dhrystone *d) {
    int same = d->letter_1 == 'A';
    d->truth = same | d->truth;
    d->letter_2 = 'B';
}

APART static void procedure_5(struct dhrystone *d) {
    d->letter_1 = 'A';
    d->truth = 0;
}

APART static void procedure_8(struct dhrystone *d, int first, int second) {
    int index = first + 5;
    d->array_1[index] = second;
    d->array_1[index + 1] = d->array_1[index];
    d->array_1[index + 30] = index;
    for (int column = index; column <= index + 1; column++)
        d->array_2[index][column] = index;
    d->array_2[index][index - 1]++;
    d->array_2[index + 20][index] = d->array_1[index];
    d->number = 5;
}

static void restore(void *state, int part) {
    struct dhrystone *d = state;
    (void)part;
    memset(d, 0, sizeof *d);
    d->record = &d->first;
    d->first.next = &d->second;
    d->first.discriminant = IDENTITY_1;
    d->first.chosen = IDENTITY_3;
    d->first.number = 40;
    strcpy(d->first.text, "DHRYSTONE PROGRAM, SOME STRING");
    strcpy(d->text_1, "DHRYSTONE PROGRAM, 1'ST STRING");
    d->array_2[8][7] = 10;
}

static void execute(struct dhrystone *d, int index) {
    procedure_5(d);
    procedure_4(d);
    d->local_1 = 2;
    d->local_2 = 3;
    strcpy(d->text_2, "DHRYSTONE PROGRAM, 2'ND STRING");
    d->local_identity = IDENTITY_2;
    d->truth = !function_2(d, d->text_1, d->text_2);
    while (d->local_1 < d->local_2) {
        d->local_3 = 5 * d->local_1 - d->local_2;
        procedure_7(d->local_1, d->local_2, &d->local_3);
        d->local_1++;
    }
    procedure_8(d, d->local_1, d->local_3);
    procedure_1(d, d->record);
    for (char letter = 'A'; letter <= d->letter_2; letter++)
        if (d->local_identity == function_1(d, letter, 'C')) {
            procedure_6(d, IDENTITY_1, &d->local_identity);
            strcpy(d->text_2, "DHRYSTONE PROGRAM, 3'RD STRING");
            d->local_2 = index;
            d->number = index;
        }
    d->local_2 *= d->local_1;
    d->local_1 = d->local_2 / d->local_3;
    d->local_2 = 7 * (d->local_2 - d->local_3) - d->local_1;
    procedure_2(d, &d->local_1);
}

static double run(void *state, int part) {
    (void)part;
    for (int index = 1; index <= RUNS; index++)
        execute(state, index);
    return 0;
}

static int right_record(const struct record *record, enum identity chosen, int number,
                        const struct record *next) {
    return record->next == next && record->discriminant == IDENTITY_1 && record->chosen == chosen &&
           record->number == number && strcmp(record->text, "DHRYSTONE PROGRAM, SOME STRING") == 0;
}

static int verify(void *state, char *message, size_t size) {
    const struct dhrystone *d = state;
    int globals = d->number == 5 && d->truth == 1 && d->letter_1 == 'A' && d->letter_2 == 'B' &&
                  d->array_1[8] == 7 && d->array_2[8][7] == RUNS + 10;
    int records = right_record(&d->first, IDENTITY_3, 17, &d->second) &&
                  right_record(&d->second, IDENTITY_2, 18, &d->second);
    int locals = d->local_1 == 5 && d->local_2 == 13 && d->local_3 == 7 &&
                 d->local_identity == IDENTITY_2 &&
                 strcmp(d->text_1, "DHRYSTONE PROGRAM, 1'ST STRING") == 0 &&
                 strcmp(d->text_2, "DHRYSTONE PROGRAM, 2'ND STRING") == 0;
    if (globals && records && locals)
        return 1;
    snprintf(message, size, "Dhrystone: %s not as the definition says",
             !globals  ? "global variables are"
             : records ? "local variables are"
                       : "records are");
    return 0;
}

static void corrupt(void *state) { ((struct dhrystone *)state)->array_2[8][7]--; }

const struct kernel dhrystone_kernel =
    KERNEL_TIMED("dhrystone", struct dhrystone, restore, run, verify, corrupt);
