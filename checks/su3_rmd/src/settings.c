/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* sysconf */
#include "settings.h"

#include "assay/fail.h"
#include "assay/hosts.h"
#include "layout.h"
#include "simulation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PURPOSE "pure SU(3) gauge theory, refreshed molecular dynamics; input as of the original"
#define MEMORY_SHARE 0.9    /* of a host's memory, at most */
#define SITES_MOST 0x1p30   /* of sums.h */
#define VECTORS_MOST 0x1p26 /* vector sites a rank: numbers of matrices stay below 2^31 */
#define COUNTS_SHOWN 64

static const char *text_input = "-", *text_json, *text_geometry, *text_comm = "isend",
                  *text_overlap = "yes", *text_kernel = "auto";

static const struct arg table[] = {
    {"input", ARG_TEXT, &text_input, 0, 0, NULL, "file with the input, - = standard input (-)"},
    {"json", ARG_TEXT, &text_json, 0, 0, NULL, "file for JSON lines, - = standard output (none)"},
    {"geometry", ARG_TEXT, &text_geometry, 0, 0, NULL, "process grid Px,Py,Pz,Pt (by the rule)"},
    {"comm", ARG_TEXT, &text_comm, 0, 0, NULL, "isend, ssend or persistent (isend)"},
    {"overlap", ARG_TEXT, &text_overlap, 0, 0, NULL,
     "yes or no: compute while messages are under way (yes)"},
    {"kernel", ARG_TEXT, &text_kernel, 0, 0, NULL,
     "auto, plain, baseline, avx2 or avx512 (auto: the best this CPU has)"},
};

enum { OPTIONS = sizeof table / sizeof *table };

void settings_read(struct settings *settings, int argc, char **argv) {
    char why[256] = "";
    args_read("su3_rmd", PURPOSE, table, OPTIONS, argc, argv);
    settings->kernels = kernels_select(text_kernel, why, sizeof why);
    fail_all(!settings->kernels, "su3_rmd",
             "option --kernel: found '%s', possible with this program on this CPU is %s",
             text_kernel, why);
    int mode = 0;
    while (mode < HALO_MODES && strcmp(text_comm, halo_mode_names[mode]) != 0)
        mode++;
    fail_all(mode == HALO_MODES, "su3_rmd",
             "option --comm: found '%s', allowed is isend, ssend or persistent", text_comm);
    settings->mode = (enum halo_mode)mode;
    settings->overlap = strcmp(text_overlap, "yes") == 0;
    fail_all(!settings->overlap && strcmp(text_overlap, "no") != 0, "su3_rmd",
             "option --overlap: found '%s', allowed is yes or no", text_overlap);
    settings->input = text_input;
    settings->json = text_json;
    settings->geometry = text_geometry;
    settings->table = table;
    settings->count = OPTIONS;
}

static void check_memory(const struct settings *settings, const struct lattice *lattice,
                         MPI_Comm comm) {
    const int *size = lattice->size;
    struct {
        double need, have; /* bytes */
        char host[HOST_BYTES];
    } worst = {0};
    struct hosts hosts;
    int ranks_here = 0;
    double sites = 1, local_sites = 1;
    for (int d = 0; d < DIRECTIONS; d++) {
        sites *= size[d];
        local_sites *= size[d] / lattice->procs[d];
    }
    fail_all(sites > SITES_MOST || local_sites > VECTORS_MOST, "su3_rmd",
             "a lattice of %d x %d x %d x %d on %d ranks is too large: allowed are %.0f sites and "
             "%.0f a rank",
             size[0], size[1], size[2], size[3], lattice->ranks, SITES_MOST, VECTORS_MOST);
    host_short_name(worst.host);
    hosts_find(&hosts, worst.host, comm);
    for (int rank = 0; rank < lattice->ranks; rank++)
        ranks_here += hosts.node[rank] == hosts.node[lattice->rank];
    hosts_free(&hosts);
    worst.need = simulation_bytes(lattice, settings->kernels) * ranks_here;
    worst.have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    struct {
        double value;
        int rank;
    } own = {worst.need - MEMORY_SHARE * worst.have, lattice->rank}, most;
    MPI_Allreduce(&own, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    MPI_Bcast(&worst, sizeof worst, MPI_BYTE, most.rank, comm);
    fail_all(most.value > 0, "su3_rmd",
             "a lattice of %d x %d x %d x %d needs %.3g bytes on host %s, which has %.3g; use more "
             "hosts or a smaller lattice",
             size[0], size[1], size[2], size[3], worst.need, worst.host, worst.have);
}

void settings_lattice(const struct settings *settings, struct lattice *lattice, MPI_Comm comm) {
    const char *text = settings->geometry;
    const int *size = lattice->size, ranks = lattice->ranks;
    int *procs = lattice->procs;
    if (text) {
        fail_all(layout_read(text, procs) != 0, "su3_rmd",
                 "option --geometry: found '%s', allowed is Px,Py,Pz,Pt: four numbers of at "
                 "least 1",
                 text);
        double product = (double)procs[0] * procs[1] * procs[2] * procs[3];
        fail_all((double)ranks != product, "su3_rmd",
                 "option --geometry: %s makes %.0f ranks, but there are %d", text, product, ranks);
        for (int d = 0; d < DIRECTIONS; d++)
            fail_all(size[d] % procs[d] != 0, "su3_rmd",
                     "option --geometry: %d ranks along %c do not divide the length %d", procs[d],
                     "xyzt"[d], size[d]);
    } else if (layout_choose(size, ranks, procs) != 0) {
        char counts[512];
        layout_counts(size, 2 * ranks > COUNTS_SHOWN ? 2 * ranks : COUNTS_SHOWN, counts,
                      sizeof counts);
        fail_all(1, "su3_rmd",
                 "a lattice of %d x %d x %d x %d cannot be divided among %d ranks; possible are %s",
                 size[0], size[1], size[2], size[3], ranks, counts);
    }
    check_memory(settings, lattice, comm);
}
