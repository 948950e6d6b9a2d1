/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* gethostname */
#include "host_name.h"

#include <string.h>
#include <unistd.h>

void host_name(char *name) {
    if (gethostname(name, HOST_BYTES) != 0)
        strcpy(name, "unknown");
    name[HOST_BYTES - 1] = '\0';
}

void host_short_name(char *name) {
    host_name(name);
    name[strcspn(name, ".")] = '\0';
}
