/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of message sizes: right ones are expanded, wrong ones are refused with a message. */
#include "assay/sizes.h"
#include "proof.h"

#include <string.h>

static double errors(const char *text, const long long *expected, size_t count) {
    char message[256];
    struct sizes sizes;
    if (sizes_parse(text, &sizes, message, sizeof message) != 0)
        return -1;
    double differing = sizes.count != count;
    for (size_t i = 0; i < count && i < sizes.count; i++)
        differing += sizes.bytes[i] != expected[i];
    sizes_free(&sizes);
    return differing;
}

static int refused(const char *text, const char *hint) {
    char message[256] = "";
    struct sizes sizes;
    if (sizes_parse(text, &sizes, message, sizeof message) == 0) {
        sizes_free(&sizes);
        return 0;
    }
    return strstr(message, hint) != NULL;
}

int main(void) {
    static const long long one[] = {300}, zero[] = {0}, octave[] = {1, 2, 4, 8};
    static const long long linear[] = {300, 600, 900}, joined[] = {0, 5, 7, 9, 300};
    static const long long two[] = {4, 6, 8, 11, 16}, greatest[] = {1073741824};
    proof_deviation("one size", errors("300", one, 1), 0, 0);
    proof_deviation("no bytes", errors("0", zero, 1), 0, 0);
    proof_deviation("1 GiB", errors("1073741824", greatest, 1), 0, 0);
    proof_deviation("linear range with its end", errors("300:900:300", linear, 3), 0, 0);
    proof_deviation("linear range without its end", errors("300:1000:300", linear, 3), 0, 0);
    proof_deviation("one an octave", errors("log:1:8:1", octave, 4), 0, 0);
    proof_deviation("two an octave, rounded", errors("log:4:16:2", two, 5), 0, 0);
    proof_deviation("joined, sorted, each once", errors("300,5:9:2,0,7", joined, 5), 0, 0);
    proof_true("above 1 GiB refused", refused("1073741825", "1073741824"));
    proof_true("range above 1 GiB refused", refused("1:2000000000:1", "1073741824"));
    proof_true("text refused", refused("3k", "found '3k'"));
    proof_true("empty refused", refused("", "BYTES"));
    proof_true("empty part refused", refused("300,", "BYTES"));
    proof_true("negative refused", refused("-1", "found '-1'"));
    proof_true("overflow refused", refused("99999999999999999999999", "BYTES"));
    proof_true("step 0 refused", refused("1:9:0", "STEP"));
    proof_true("backward range refused", refused("9:1:1", "FIRST"));
    proof_true("logarithm of 0 refused", refused("log:0:8:1", "FIRST"));
    proof_true("too many sizes refused", refused("0:1000000:1", "100000"));
    proof_true("fourth number refused", refused("1:2:3:4", "BYTES"));
    return proof_status();
}
