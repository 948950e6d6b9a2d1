/* SPDX-License-Identifier: Apache-2.0 */
#include "protocols.h"

#include "pvm/pvm_fail.h"

#include <pvm3.h>

#define TAG 1

/* PVM's interface has no const. */
static int pack_bytes(const void *data, int count) { return pvm_pkbyte((char *)data, count, 1); }
static int unpack_bytes(void *data, int count) { return pvm_upkbyte(data, count, 1); }
static int pack_ints(const void *data, int count) { return pvm_pkint((int *)data, count, 1); }
static int unpack_ints(void *data, int count) { return pvm_upkint(data, count, 1); }
static int pack_doubles(const void *data, int count) {
    return pvm_pkdouble((double *)data, count, 1);
}
static int unpack_doubles(void *data, int count) { return pvm_upkdouble(data, count, 1); }

const struct element elements[ELEMENTS] = {
    {"byte", 1, pack_bytes, unpack_bytes},
    {"int", sizeof(int), pack_ints, unpack_ints},
    {"double", sizeof(double), pack_doubles, unpack_doubles},
};
const char *const element_names[ELEMENTS + 1] = {"byte", "int", "double", NULL};

const struct protocol protocols[PROTOCOLS] = {
    {"psend", 0, 0},
    {"InPlace", 1, PvmDataInPlace},
    {"Raw", 1, PvmDataRaw},
    {"Default", 1, PvmDataDefault},
};
const char *const protocol_names[PROTOCOLS + 1] = {"psend", "InPlace", "Raw", "Default", NULL};

/* The number of whole elements of a message, and their bytes. */
static int whole(const struct message *message, size_t *covered) {
    size_t count = message->bytes / message->element->bytes;
    *covered = count * message->element->bytes;
    return (int)count;
}

void message_pack(const struct message *message, const void *data) {
    size_t covered;
    int count = whole(message, &covered), rest = (int)(message->bytes - covered);
    if (!message->protocol->packs)
        return;
    pvm_done(pvm_initsend(message->protocol->encoding), "pvm_initsend");
    if (count > 0)
        pvm_done(message->element->pack(data, count), "pack");
    if (rest > 0)
        pvm_done(pack_bytes((const char *)data + covered, rest), "pvm_pkbyte");
}

void message_send(const struct message *message, const void *data) {
    if (message->protocol->packs)
        pvm_done(pvm_send(message->other, TAG), "pvm_send");
    else
        pvm_done(pvm_psend(message->other, TAG, (void *)data, (int)message->bytes, PVM_BYTE),
                 "pvm_psend");
}

void message_wait(const struct message *message, void *data) {
    if (message->protocol->packs)
        pvm_done(pvm_recv(message->other, TAG), "pvm_recv");
    else
        pvm_done(
            pvm_precv(message->other, TAG, data, (int)message->bytes, PVM_BYTE, NULL, NULL, NULL),
            "pvm_precv");
}

void message_unpack(const struct message *message, void *data) {
    size_t covered;
    int count = whole(message, &covered), rest = (int)(message->bytes - covered);
    if (!message->protocol->packs)
        return;
    if (count > 0)
        pvm_done(message->element->unpack(data, count), "unpack");
    if (rest > 0)
        pvm_done(unpack_bytes((char *)data + covered, rest), "pvm_upkbyte");
}
