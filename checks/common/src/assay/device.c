/* SPDX-License-Identifier: Apache-2.0 */
#include "library_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MOST 16

/* The word after a label of the description. */
static int word_after(const char *raw, const char *label, char *text, size_t size) {
    const char *found = strstr(raw, label);
    if (!found)
        return 0;
    found += strlen(label);
    found += strspn(found, " \t");
    snprintf(text, size, "%.*s", (int)strcspn(found, " \t\n'\""), found);
    return *text != '\0';
}

/* "MPICH Device: ch3:nemesis" lacks the network module that configure was given. */
int library_mpich_device(const char *raw, char *text, size_t size) {
    char given[256];
    if (!word_after(raw, " Device:", text, size))
        return 0;
    size_t length = strlen(text);
    if (word_after(raw, "--with-device=", given, sizeof given) && given[length] == ':' &&
        strncmp(given, text, length) == 0)
        snprintf(text, size, "%s", given);
    return 1;
}

/* The first members of Open MPI's struct mca_base_component_2_1_0_t (opal/mca/mca.h), with which
 * every component begins since 1.7. */
struct openmpi_component {
    int mca_version[3];
    char project[16];
    int project_version[3];
    char kind[32];
    int kind_version[3];
    char name[64];
};

/* Of its lists (opal/class/opal_list.h, opal_object.h) as compiled without debugging; the sizes
 * that its classes state tell whether they are. */
struct openmpi_class {
    const char *name;
    void *parent, *construct, *destruct;
    int initialised, depth;
    void *constructs, *destructs;
    size_t size;
};
struct openmpi_item {
    void *class;
    int references;
    struct openmpi_item *next, *previous;
    int free;
};
struct openmpi_list {
    void *class;
    int references;
    struct openmpi_item sentinel;
    size_t length;
};
struct openmpi_transport {
    struct openmpi_item item;
    const struct openmpi_component *component;
    void *module;
};

static int is_component(const struct openmpi_component *component, const char *kind) {
    return component && strncmp(component->kind, kind, sizeof component->kind) == 0 &&
           memchr(component->name, '\0', sizeof component->name);
}

static int has_size(const char *class, size_t size) {
    const struct openmpi_class *known = library_symbol(class);
    return known && known->size == size;
}

static int in_order(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* The names of the transports (btl) that are open, sorted, each once. */
static size_t open_transports(const char **names) {
    struct openmpi_list *list = library_symbol("mca_btl_base_modules_initialized");
    size_t count = 0, distinct = 0;
    if (!list || !has_size("opal_list_t_class", sizeof *list) ||
        !has_size("opal_list_item_t_class", sizeof(struct openmpi_item)) ||
        !has_size("mca_btl_base_selected_module_t_class", sizeof(struct openmpi_transport)))
        return 0;
    struct openmpi_item *item = list->sentinel.next;
    for (; item && item != &list->sentinel && count < NAMES_MOST; item = item->next) {
        struct openmpi_transport *transport = (struct openmpi_transport *)item;
        if (is_component(transport->component, "btl"))
            names[count++] = transport->component->name;
    }
    qsort(names, count, sizeof *names, in_order);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i], names[distinct - 1]) != 0)
            names[distinct++] = names[i];
    return distinct;
}

/* The layer that matches messages (pml), and the transports if it is ob1, which alone uses them. */
static void openmpi_device(char *text, size_t size) {
    const char *names[NAMES_MOST];
    const struct openmpi_component *layer = library_symbol("mca_pml_base_selected_component");
    if (!is_component(layer, "pml"))
        return;
    snprintf(text, size, "%s", layer->name);
    size_t count = strcmp(layer->name, "ob1") == 0 ? open_transports(names) : 0;
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%c%s", i == 0 ? ':' : ',', names[i]);
    }
}

void library_device(char *text, size_t size) {
    char raw[LIBRARY_RAW_TEXT] = "";
    text[0] = '\0';
    if (!library_describe(raw))
        snprintf(text, size, "%s", library_lam_module());
    else if (!library_mpich_device(raw, text, size))
        openmpi_device(text, size);
}
