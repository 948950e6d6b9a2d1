/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong(char *message, size_t size, const struct arg *option, const char *found,
                 const char *allowed) {
    snprintf(message, size, "option --%s: found '%s', allowed is %s", option->name, found, allowed);
    return 0;
}

static int read_integer(const struct arg *option, const char *text, char *message, size_t size) {
    char allowed[128], *end;
    snprintf(allowed, sizeof allowed, "an integer from %.0f to %.0f", option->low, option->high);
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || (double)value < option->low || (double)value > option->high)
        return wrong(message, size, option, text, allowed);
    *(long long *)option->value = value;
    return 1;
}

static int read_real(const struct arg *option, const char *text, char *message, size_t size) {
    char allowed[128], *end;
    snprintf(allowed, sizeof allowed, "a number from %g to %g", option->low, option->high);
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < option->low || value > option->high)
        return wrong(message, size, option, text, allowed);
    *(double *)option->value = value;
    return 1;
}

static void list_choices(const char *const *choices, char *text, size_t size) {
    int used = snprintf(text, size, "all or a comma list of");
    for (; *choices && (size_t)used < size; choices++)
        used += snprintf(text + used, size - (size_t)used, " %s", *choices);
}

static int read_choices(const struct arg *option, const char *text, char *message, size_t size) {
    char allowed[512];
    unsigned long mask = 0;
    list_choices(option->choices, allowed, sizeof allowed);
    for (const char *item = text;;) {
        size_t length = strcspn(item, ","), i = 0;
        while (option->choices[i] && (strlen(option->choices[i]) != length ||
                                      strncmp(option->choices[i], item, length) != 0))
            i++;
        if (option->choices[i])
            mask |= 1UL << i;
        else if (length == 3 && strncmp(item, "all", 3) == 0)
            for (size_t j = 0; option->choices[j]; j++)
                mask |= 1UL << j;
        else
            return wrong(message, size, option, text, allowed);
        if (!item[length])
            break;
        item += length + 1;
    }
    *(unsigned long *)option->value = mask;
    return 1;
}

static int read_value(const struct arg *option, const char *text, char *message, size_t size) {
    switch (option->kind) {
    case ARG_INTEGER:
        return read_integer(option, text, message, size);
    case ARG_REAL:
        return read_real(option, text, message, size);
    case ARG_CHOICES:
        return read_choices(option, text, message, size);
    default:
        *(const char **)option->value = text;
        return 1;
    }
}

static const struct arg *find(const struct arg *table, size_t count, const char *name,
                              size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(table[i].name) == length && strncmp(table[i].name, name, length) == 0)
            return &table[i];
    return NULL;
}

static int unknown(const struct arg *table, size_t count, const char *found, char *message,
                   size_t size) {
    int used = snprintf(message, size, "unknown option '%s', allowed are --help", found);
    for (size_t i = 0; i < count && (size_t)used < size; i++)
        used += snprintf(message + used, size - (size_t)used, " --%s", table[i].name);
    return 0;
}

/* Read the option at argv[*at] and move *at past it. */
static int read_option(const struct arg *table, size_t count, char **argv, int argc, int *at,
                       char *message, size_t size) {
    const char *word = argv[*at], *name = word + 2;
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(name, "=") : 0;
    const struct arg *option = length ? find(table, count, name, length) : NULL;
    if (!option)
        return unknown(table, count, word, message, size);
    const char *text = name[length] == '=' ? name + length + 1 : NULL;
    ++*at;
    if (option->kind == ARG_FLAG) {
        if (text)
            return wrong(message, size, option, text, "no value");
        *(int *)option->value = 1;
        return 1;
    }
    if (!text && *at < argc)
        text = argv[(*at)++];
    if (!text)
        return wrong(message, size, option, "", "a value after it");
    return read_value(option, text, message, size);
}

enum args_result args_parse(const struct arg *table, size_t count, int argc, char **argv,
                            char *message, size_t size) {
    for (int at = 1; at < argc;) {
        if (strcmp(argv[at], "--help") == 0)
            return ARGS_HELP;
        if (!read_option(table, count, argv, argc, &at, message, size))
            return ARGS_WRONG;
    }
    return ARGS_OK;
}

void args_help(const char *program, const char *purpose, const struct arg *table, size_t count) {
    printf("%s: %s\n", program, purpose);
    for (size_t i = 0; i < count; i++)
        printf("  --%-18s %s\n", table[i].name, table[i].help);
    printf("  --%-18s %s\n", "help", "this text");
    fflush(stdout);
}

static void echo_choices(struct json *line, const struct arg *option) {
    json_open(line, option->name, '[');
    for (size_t i = 0; option->choices[i]; i++)
        if (*(unsigned long *)option->value >> i & 1)
            json_string(line, NULL, option->choices[i]);
    json_close(line, ']');
}

void args_echo(struct json *line, const struct arg *table, size_t count) {
    json_open(line, "settings", '{');
    for (const struct arg *option = table; option < table + count; option++) {
        if (option->kind == ARG_INTEGER)
            json_integer(line, option->name, *(long long *)option->value);
        else if (option->kind == ARG_REAL)
            json_clock(line, option->name, *(double *)option->value);
        else if (option->kind == ARG_FLAG)
            json_boolean(line, option->name, *(int *)option->value);
        else if (option->kind == ARG_CHOICES)
            echo_choices(line, option);
        else if (*(const char **)option->value)
            json_string(line, option->name, *(const char **)option->value);
        else
            json_raw(line, option->name, "null");
    }
    json_close(line, '}');
}
