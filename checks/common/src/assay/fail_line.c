/* SPDX-License-Identifier: Apache-2.0 */
#include "fail_line.h"

#include "json.h"

void fail_line(const char *where, const char *format, va_list values, int rank, int wrong) {
    char message[1024];
    struct json line;
    vsnprintf(message, sizeof message, format, values);
    json_begin_line(&line, "error");
    json_string(&line, "where", where);
    json_string(&line, "message", message);
    json_integer(&line, "rank", rank);
    if (wrong)
        json_boolean(&line, "wrong", 1);
    json_write(&line, stdout);
}
