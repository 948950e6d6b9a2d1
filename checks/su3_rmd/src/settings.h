/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/args.h"
#include "halo.h"

/* The command line, validated. */
struct settings {
    const char *input, *json, *geometry;
    const struct kernels *kernels;
    enum halo_mode mode;
    int overlap;
    const struct arg *table; /* for the echo */
    size_t count;
};

/* Read argv; a wrong option ends the run (fail_all), --help prints usage and exits. Collective over
 * all ranks; MPI must be up. */
void settings_read(struct settings *settings, int argc, char **argv);

/* Set the process grid of the lattice from --geometry or by the rule of layout.h; lattice->size,
 * rank and ranks are set. An impossible grid, or a lattice that does not fit into the memory of the
 * hosts, ends the run (fail_all) with the possible choices. Collective over comm. */
void settings_lattice(const struct settings *settings, struct lattice *lattice, MPI_Comm comm);
