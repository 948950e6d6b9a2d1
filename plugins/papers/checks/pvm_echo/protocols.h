/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* PVM's ways to send and receive one contiguous message, as compared by Casanova, Dongarra and
 * Jiang in 1995: pvm_psend with pvm_precv, and pvm_send with pvm_recv and each encoding. Encoded
 * messages are packed as elements of one type, the remainder as bytes; only PvmDataDefault (XDR)
 * converts them, and only types longer than a byte.
 *
 * PVM 3.4.6 on a direct route (from strace): psend and InPlace are the same, a write of 48 bytes
 * for the header, then of the caller's buffer (800000 bytes: four writes); Raw and Default copy to
 * fragments of at most 4080 bytes, one write each with its header (199). So short messages are
 * slower with psend and InPlace, long ones with Raw, and slowest with XDR. */

struct element {
    const char *name;
    size_t bytes;
    int (*pack)(const void *data, int count);
    int (*unpack)(void *data, int count);
};

#define ELEMENTS 3
extern const struct element elements[ELEMENTS];
extern const char *const element_names[ELEMENTS + 1]; /* NULL-terminated */

#define PROTOCOLS 4
struct protocol {
    const char *name; /* psend, InPlace, Raw, Default */
    int packs;        /* packing and unpacking are separate calls */
    int encoding;     /* for pvm_initsend, if it packs */
};
extern const struct protocol protocols[PROTOCOLS];
extern const char *const protocol_names[PROTOCOLS + 1]; /* NULL-terminated */

/* A message to or from the task `other`, `bytes` long. */
struct message {
    const struct protocol *protocol;
    const struct element *element;
    int other;
    size_t bytes;
};

/* The steps of sending and receiving, to be timed one by one. message_pack and message_unpack do
 * nothing for a protocol that does not pack. A PVM error ends the run (fail_if). */
void message_pack(const struct message *message, const void *data);
void message_send(const struct message *message, const void *data);
void message_wait(const struct message *message, void *data);
void message_unpack(const struct message *message, void *data);
