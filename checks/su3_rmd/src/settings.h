/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_SETTINGS_H
#define SU3_SETTINGS_H

#include "assay/args.h"
#include "halo.h"

/* The command line, read and checked. */
struct settings {
    const char *input, *json, *geometry;
    const struct kernels *kernels;
    enum halo_mode mode;
    int overlap;
    const struct arg *table; /* for the echo */
    size_t count;
};

/* Read argv; a wrong option ends all ranks (fail.h), --help prints and ends. Collective; MPI must
 * be up. */
void settings_read(struct settings *settings, int argc, char **argv);

/* Make the process grid for the lattice from --geometry or by the rule of layout.h; lattice->size,
 * rank and ranks are set. A grid that is impossible, or a lattice that does not fit into the
 * memory of the ranks' hosts, ends all ranks with a message that says what would do. Collective. */
void settings_lattice(const struct settings *settings, struct lattice *lattice, MPI_Comm comm);

#endif
