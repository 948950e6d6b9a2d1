/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "kernels.h"

#include <mpi.h>

/* Filling the halo slots of a field: from other lanes of this rank, and from other ranks by one
 * message for each divided direction. Two kinds of halo (kernels.h): links from one step ahead, and
 * lower staples from one step behind; both have three matrices a face site. Messages contain only
 * the lanes of the face, which are all lanes if the direction is not split. */
enum halo_kind { HALO_LINKS, HALO_STAPLES, HALO_KINDS };

enum halo_mode {
    HALO_ISEND,      /* MPI_Irecv, MPI_Isend, waits */
    HALO_SSEND,      /* MPI_Irecv, MPI_Ssend, waits: as in the 2003 study */
    HALO_PERSISTENT, /* MPI_Recv_init and MPI_Send_init once, MPI_Start each time */
    HALO_MODES
};

extern const char *const halo_mode_names[HALO_MODES];

/* How one kind of halo is filled across one direction. */
struct halo_plan {
    int remote;                   /* the direction is divided: there is a message */
    int any_local, same_depth;    /* some lane has a local source; all of them at one depth */
    int source[LANES_MOST];       /* source lane (the lane itself if there is none) */
    int depth[LANES_MOST];        /* depth of the source in its block */
    int remote_place[LANES_MOST]; /* index in a message's lanes, -1 for lanes filled locally */
    int sent[LANES_MOST];         /* lanes that are sent, */
    int sent_count, sent_depth;   /* their number and depth */
    int from, to, tag;
    long numbers; /* reals in the message */
    int in_place; /* in and out are parts of the field: nothing is packed */
    real *in, *out;
    MPI_Request requests[2]; /* receive, send */
};

struct halo_count {
    double communication_s, packing_s; /* in MPI calls; copying into, out of and without messages */
    long messages, bytes;              /* sent by this rank */
};

struct halo {
    const struct lattice *lattice;
    const struct kernels *kernels;
    enum halo_mode mode;
    MPI_Comm comm;
    struct halo_plan plans[HALO_KINDS][DIRECTIONS];
    struct halo_count count;
};

/* Make plans, buffers and, in persistent mode, requests. lattice, fields and kernels must outlive
 * halo. 0, or -1 if this rank is out of memory. Collective over comm. */
int halo_make(struct halo *halo, const struct lattice *lattice, const struct fields *fields,
              const struct kernels *kernels, enum halo_mode mode, MPI_Comm comm);
void halo_free(struct halo *halo);

/* halo_start sends the faces that neighbours need and fills the slots that need no message, except
 * those that serve one time slice after the other (lattice.h); halo_finish receives. In between,
 * fields may be read, and written except for the halo and staples that are sent in place.
 * Collective, in pairs. */
void halo_start(struct halo *halo, enum halo_kind kind, struct fields *fields);
void halo_finish(struct halo *halo, enum halo_kind kind, struct fields *fields);

/* Fill the halo across d, if it is split but not divided, of one row (d = 0), slab (1) or time
 * slice (2), which are numbered in the order of the sites. Local. */
void halo_line(struct halo *halo, enum halo_kind kind, int d, int line, struct fields *fields);

/* The same across x, y and z of one time slice of the block. */
void halo_slice(struct halo *halo, enum halo_kind kind, int t, struct fields *fields);
