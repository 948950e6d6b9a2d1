/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include "fail.h"

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

static int read_number(const struct arg *option, const char *text, char *message, size_t size) {
    int is_integer = option->kind == ARG_INTEGER;
    char allowed[128], *end;
    errno = 0;
    long long integer = is_integer ? strtoll(text, &end, 10) : 0;
    double value = !is_integer ? strtod(text, &end) : errno ? NAN : (double)integer;
    if (end == text || *end || !isfinite(value) || value < option->low || value > option->high) {
        snprintf(allowed, sizeof allowed,
                 is_integer ? "an integer from %.0f to %.0f" : "a number from %g to %g",
                 option->low, option->high);
        return wrong(message, size, option, text, allowed);
    }
    if (is_integer)
        *(long long *)option->value = integer;
    else
        *(double *)option->value = value;
    return 1;
}

static int read_choices(const struct arg *option, const char *text, char *message, size_t size) {
    char allowed[512];
    unsigned long mask = 0;
    int used = snprintf(allowed, sizeof allowed, "all or a comma list of");
    for (size_t i = 0; option->choices[i] && (size_t)used < sizeof allowed; i++)
        used += snprintf(allowed + used, sizeof allowed - (size_t)used, " %s", option->choices[i]);
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

/* Set the option from text, NULL if it has no value. 1, or 0 with message. */
static int read_value(const struct arg *option, const char *text, char *message, size_t size) {
    if (option->kind == ARG_FLAG && text)
        return wrong(message, size, option, text, "no value");
    if (option->kind != ARG_FLAG && !text)
        return wrong(message, size, option, "", "a value after it");
    if (option->kind == ARG_CHOICES)
        return read_choices(option, text, message, size);
    if (option->kind == ARG_INTEGER || option->kind == ARG_REAL)
        return read_number(option, text, message, size);
    if (option->kind == ARG_FLAG)
        *(int *)option->value = 1;
    else
        *(const char **)option->value = text;
    return 1;
}

enum args_result args_parse(const struct arg *table, size_t count, int argc, char **argv,
                            char *message, size_t size) {
    for (int at = 1; at < argc;) {
        const char *word = argv[at++], *name = word + 2, *text = NULL;
        size_t length = strncmp(word, "--", 2) == 0 ? strcspn(name, "=") : 0;
        const struct arg *option = NULL;
        if (strcmp(word, "--help") == 0)
            return ARGS_HELP;
        for (size_t i = 0; length && i < count; i++)
            if (strlen(table[i].name) == length && strncmp(table[i].name, name, length) == 0)
                option = &table[i];
        if (!option) {
            int used = snprintf(message, size, "unknown option '%s', allowed are --help", word);
            for (size_t i = 0; i < count && (size_t)used < size; i++)
                used += snprintf(message + used, size - (size_t)used, " --%s", table[i].name);
            return ARGS_WRONG;
        }
        if (name[length] == '=')
            text = name + length + 1;
        else if (option->kind != ARG_FLAG && at < argc)
            text = argv[at++];
        if (!read_value(option, text, message, size))
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

void args_echo(struct json *line, const struct arg *table, size_t count) {
    json_open(line, "settings", '{');
    for (const struct arg *option = table; option < table + count; option++) {
        if (option->kind == ARG_INTEGER)
            json_integer(line, option->name, *(long long *)option->value);
        else if (option->kind == ARG_REAL)
            json_clock(line, option->name, *(double *)option->value);
        else if (option->kind == ARG_FLAG)
            json_boolean(line, option->name, *(int *)option->value);
        else if (option->kind == ARG_CHOICES) {
            json_open(line, option->name, '[');
            for (size_t i = 0; option->choices[i]; i++)
                if (*(unsigned long *)option->value >> i & 1)
                    json_string(line, NULL, option->choices[i]);
            json_close(line, ']');
        } else if (*(const char **)option->value)
            json_string(line, option->name, *(const char **)option->value);
        else
            json_raw(line, option->name, "null");
    }
    json_close(line, '}');
}

void args_read_alone(const char *program, const char *purpose, const struct arg *table,
                     size_t count, int argc, char **argv) {
    char message[1024];
    enum args_result result = args_parse(table, count, argc, argv, message, sizeof message);
    fail_if(result == ARGS_WRONG, program, "%s", message);
    if (result == ARGS_HELP) {
        args_help(program, purpose, table, count);
        exit(0);
    }
}
