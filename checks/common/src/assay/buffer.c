/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer.h"

#include "fail.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *buffer_make(size_t count, size_t size) {
    size_t bytes = size && count > (SIZE_MAX - 1) / size ? SIZE_MAX : count * size + 1;
    void *buffer = bytes < SIZE_MAX ? malloc(bytes) : NULL;
    fail_if(!buffer, __func__, "out of memory: %zu × %zu bytes", count, size);
    return memset(buffer, 0, bytes); /* calloc would leave the pages untouched */
}
