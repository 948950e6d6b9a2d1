/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PROTOCOLS_H
#define ASSAY_PROTOCOLS_H

#include <stddef.h>

/* PVM's ways to send one contiguous message and to receive it, as Casanova, Dongarra and Jiang
 * compared them in 1995: pvm_psend with pvm_precv, and pvm_send with pvm_recv and each encoding.
 * Encoded messages are packed as elements of one type, what is left over as bytes; only
 * PvmDataDefault (XDR) converts them, and only types longer than a byte.
 *
 * What PVM 3.4.6 makes of them on a direct route, seen by strace: psend and InPlace are the same, a
 * write of 48 bytes for the header, then the caller's own buffer (800000 bytes: four writes); Raw
 * and Default are copied to fragments of at most 4080 bytes, a write each with its header (199).
 * So a short message is dearer by psend and InPlace, a long one by Raw, and by XDR most. */

struct element {
    const char *name;
    size_t bytes;
    int (*pack)(const void *data, int count);
    int (*unpack)(void *data, int count);
};

#define ELEMENTS 3
extern const struct element elements[ELEMENTS];
extern const char *const element_names[ELEMENTS + 1]; /* NULL-ended */

#define PROTOCOLS 4
struct protocol {
    const char *name; /* psend, InPlace, Raw, Default */
    int packs;        /* pack and unpack are calls of their own */
    int encoding;     /* for pvm_initsend, if it packs */
};
extern const struct protocol protocols[PROTOCOLS];
extern const char *const protocol_names[PROTOCOLS + 1]; /* NULL-ended */

/* What a message is: to or from the task `other`, `bytes` long. */
struct message {
    const struct protocol *protocol;
    const struct element *element;
    int other;
    size_t bytes;
};

/* The parts of sending and receiving, each a step that can be timed. A protocol that does not pack
 * has nothing to do in message_pack and message_unpack; its data go by message_send and _wait. */
void message_pack(const struct message *message, const void *data);
void message_send(const struct message *message, const void *data);
void message_wait(const struct message *message, void *data);
void message_unpack(const struct message *message, void *data);

#endif
