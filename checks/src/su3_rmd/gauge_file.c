/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge_file.h"

#include "checksum.h"
#include "random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVIATION_MOST 1e-4

enum { GENERATOR_BYTES = 7 * 4 + 8, LINKS = DIRECTIONS * LINK_REALS, TAG = 65, DRAFT = 1024 };

/* A file on rank 0 and one time slice of it; other ranks hold their part of a slice only. */
struct gauge_file {
    const struct lattice *lattice;
    MPI_Comm comm;
    FILE *stream;
    size_t real_bytes;    /* of the file's reals */
    size_t site_bytes;    /* of a site in the file */
    unsigned char *slice; /* rank 0: nx ny nz sites */
    unsigned char *part;  /* this rank's sites of a slice, x fastest */
    uint32_t sum;
    char *message;
    size_t size;
};

static int part_sites(const struct lattice *lattice) {
    return lattice->local[0] * lattice->local[1] * lattice->local[2];
}

static size_t slice_bytes(const struct gauge_file *file) {
    const int *size = file->lattice->size;
    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2] * file->site_bytes;
}

static int host_is_little(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first;
}

/* ---- sites and bytes ---- */

static void site_write(const struct lattice *lattice, const struct fields *fields,
                       const int local[DIRECTIONS], unsigned char *out) {
    struct generator generator;
    int site, lane;
    lattice_find(lattice, local, &site, &lane);
    for (int d = 0; d < DIRECTIONS; d++, out += sizeof(su3)) {
        su3 link;
        field_get(lattice, fields->links, (size_t)(DIRECTIONS * site + d), lane, &link);
        memcpy(out, &link, sizeof link);
    }
    random_get(lattice, fields, site, lane, &generator);
    memcpy(out, generator.shift, sizeof generator.shift);
    memcpy(out + sizeof generator.shift, &generator.congruent, sizeof generator.congruent);
}

static void reals_read(const unsigned char *in, size_t real_bytes, su3 *link) {
    real *out = &link->e[0][0].re;
    for (int e = 0; e < LINK_REALS; e++, in += real_bytes) {
        float single_number;
        double double_number;
        memcpy(&single_number, in, sizeof single_number);
        if (real_bytes == sizeof double_number)
            memcpy(&double_number, in, sizeof double_number);
        out[e] = real_bytes == sizeof double_number ? (real)double_number : (real)single_number;
    }
}

/* All lanes that hold the site, owned or not, get it: so this goes by lanes, not by sites. */
static void site_read(const struct gauge_file *file, struct fields *fields, int site, int lane,
                      const unsigned char *in) {
    const struct lattice *lattice = file->lattice;
    struct generator generator;
    for (int d = 0; d < DIRECTIONS; d++, in += LINK_REALS * file->real_bytes) {
        su3 link;
        reals_read(in, file->real_bytes, &link);
        field_put(lattice, fields->links, (size_t)(DIRECTIONS * site + d), lane, &link);
    }
    random_get(lattice, fields, site, lane, &generator); /* for its factor */
    memcpy(generator.shift, in, sizeof generator.shift);
    memcpy(&generator.congruent, in + sizeof generator.shift, sizeof generator.congruent);
    random_put(lattice, fields, site, lane, &generator);
}

/* ---- parts and slices ---- */

static void rank_place(const struct lattice *lattice, int rank, int place[DIRECTIONS]) {
    for (int d = 0; d < DIRECTIONS; rank /= lattice->procs[d], d++)
        place[d] = rank % lattice->procs[d];
}

/* Copy the rows of a rank's part into its place of the slice, or back. */
static void move_part(const struct gauge_file *file, int rank, int into_slice) {
    const int *local = file->lattice->local, *size = file->lattice->size;
    const size_t row = (size_t)local[0] * file->site_bytes;
    unsigned char *part = file->part;
    int place[DIRECTIONS];
    rank_place(file->lattice, rank, place);
    for (int z = 0; z < local[2]; z++)
        for (int y = 0; y < local[1]; y++, part += row) {
            size_t at = (size_t)(place[2] * local[2] + z) * (size_t)size[1];
            at = (at + (size_t)(place[1] * local[1] + y)) * (size_t)size[0];
            unsigned char *home =
                file->slice + (at + (size_t)(place[0] * local[0])) * file->site_bytes;
            memcpy(into_slice ? home : part, into_slice ? part : home, row);
        }
}

/* Let rank 0 and each rank that has part of slice t exchange it; into_slice: towards rank 0. */
static void exchange_parts(struct gauge_file *file, int t, int into_slice) {
    const struct lattice *lattice = file->lattice;
    const int bytes = part_sites(lattice) * (int)file->site_bytes;
    MPI_Status status;
    if (lattice->rank == 0 && into_slice && lattice->place[3] == t / lattice->local[3])
        move_part(file, 0, 1);
    for (int rank = 0; rank < lattice->ranks; rank++) {
        int place[DIRECTIONS];
        rank_place(lattice, rank, place);
        if (place[3] != t / lattice->local[3] || rank == 0)
            continue;
        if (lattice->rank == rank && into_slice)
            MPI_Send(file->part, bytes, MPI_BYTE, 0, TAG, file->comm);
        else if (lattice->rank == rank)
            MPI_Recv(file->part, bytes, MPI_BYTE, 0, TAG, file->comm, &status);
        else if (lattice->rank == 0 && into_slice) {
            MPI_Recv(file->part, bytes, MPI_BYTE, rank, TAG, file->comm, &status);
            move_part(file, rank, 1);
        } else if (lattice->rank == 0) {
            move_part(file, rank, 0);
            MPI_Send(file->part, bytes, MPI_BYTE, rank, TAG, file->comm);
        }
    }
    if (lattice->rank == 0 && !into_slice && lattice->place[3] == t / lattice->local[3])
        move_part(file, 0, 0);
}

static void fill_part(struct gauge_file *file, const struct fields *fields, int t) {
    const struct lattice *lattice = file->lattice;
    unsigned char *out = file->part;
    int local[DIRECTIONS] = {0, 0, 0, t % lattice->local[3]};
    for (local[2] = 0; local[2] < lattice->local[2]; local[2]++)
        for (local[1] = 0; local[1] < lattice->local[1]; local[1]++)
            for (local[0] = 0; local[0] < lattice->local[0]; local[0]++, out += file->site_bytes)
                site_write(lattice, fields, local, out);
}

static void empty_part(const struct gauge_file *file, struct fields *fields, int t) {
    const struct lattice *lattice = file->lattice;
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            int local[DIRECTIONS];
            lattice_local(lattice, site, lane, local);
            if (local[3] != t % lattice->local[3])
                continue;
            size_t at = (size_t)(local[2] * lattice->local[1] + local[1]);
            at = at * (size_t)lattice->local[0] + (size_t)local[0];
            site_read(file, fields, site, lane, file->part + at * file->site_bytes);
        }
}

/* ---- the file ---- */

static void begin(struct gauge_file *file, const struct lattice *lattice, MPI_Comm comm,
                  char *message, size_t size) {
    memset(file, 0, sizeof *file);
    file->lattice = lattice;
    file->comm = comm;
    file->message = message;
    file->size = size;
    message[0] = '\0';
}

static void failed(struct gauge_file *file, const char *path, const char *what) {
    snprintf(file->message, file->size, "configuration file '%s': %s", path, what);
}

/* -1 on every rank, with rank 0's message, if rank 0 has one or some rank could not allocate. */
static int agree(struct gauge_file *file, int no_memory) {
    int own[2] = {file->message[0] != '\0', no_memory}, any[2];
    MPI_Allreduce(own, any, 2, MPI_INT, MPI_MAX, file->comm);
    if (any[1])
        snprintf(file->message, file->size, "no memory for a time slice of the configuration");
    else if (any[0])
        MPI_Bcast(file->message, (int)file->size, MPI_CHAR, 0, file->comm);
    return any[0] || any[1] ? -1 : 0;
}

static int allocate(struct gauge_file *file, size_t real_bytes) {
    file->real_bytes = real_bytes;
    file->site_bytes = LINKS * real_bytes + GENERATOR_BYTES;
    file->part = malloc((size_t)part_sites(file->lattice) * file->site_bytes);
    if (file->lattice->rank == 0)
        file->slice = malloc(slice_bytes(file));
    return agree(file, !file->part || (file->lattice->rank == 0 && !file->slice));
}

static void end(struct gauge_file *file) {
    free(file->part);
    free(file->slice);
    if (file->stream)
        fclose(file->stream);
}

static void header_write(const struct gauge_file *file, char header[GAUGE_HEADER]) {
    const int *size = file->lattice->size;
    memset(header, ' ', GAUGE_HEADER);
    int used =
        snprintf(header, GAUGE_HEADER, "assay-su3 1 %s %d %d %d %d %s crc32 %08lx", REAL_NAME,
                 size[0], size[1], size[2], size[3],
                 host_is_little() ? "little-endian" : "big-endian", (unsigned long)file->sum);
    header[used] = ' ';
    header[GAUGE_HEADER - 1] = '\n';
}

static void save_slices(struct gauge_file *file, const struct fields *fields, const char *path) {
    for (int t = 0; t < file->lattice->size[3]; t++) {
        if (file->lattice->place[3] == t / file->lattice->local[3])
            fill_part(file, fields, t);
        exchange_parts(file, t, 1);
        if (file->lattice->rank != 0 || file->message[0])
            continue;
        file->sum = checksum(file->sum, file->slice, slice_bytes(file));
        if (fwrite(file->slice, 1, slice_bytes(file), file->stream) != slice_bytes(file))
            failed(file, path, strerror(errno));
    }
}

/* Write the header at last, with the checksum, and put the file in its place. */
static void complete(struct gauge_file *file, const char *draft, const char *path) {
    char header[GAUGE_HEADER];
    header_write(file, header);
    if (file->message[0] == '\0' &&
        (fseek(file->stream, 0, SEEK_SET) != 0 ||
         fwrite(header, 1, sizeof header, file->stream) != sizeof header))
        failed(file, path, strerror(errno));
    if (fclose(file->stream) != 0 && file->message[0] == '\0')
        failed(file, path, strerror(errno));
    file->stream = NULL;
    if (file->message[0] == '\0' && rename(draft, path) != 0)
        failed(file, path, strerror(errno));
    if (file->message[0] != '\0')
        remove(draft);
}

int gauge_can_save(const struct lattice *lattice, const char *path, MPI_Comm comm, char *message,
                   size_t size) {
    struct gauge_file file;
    char draft[DRAFT];
    begin(&file, lattice, comm, message, size);
    snprintf(draft, sizeof draft, "%s.part", path);
    if (lattice->rank == 0 && !(file.stream = fopen(draft, "wb")))
        failed(&file, path, strerror(errno));
    if (file.stream)
        remove(draft);
    int result = agree(&file, 0);
    end(&file);
    return result;
}

int gauge_save(const struct lattice *lattice, const struct fields *fields, const char *path,
               MPI_Comm comm, char *message, size_t size) {
    struct gauge_file file;
    char draft[DRAFT];
    begin(&file, lattice, comm, message, size);
    snprintf(draft, sizeof draft, "%s.part", path);
    if (lattice->rank == 0 &&
        (!(file.stream = fopen(draft, "wb")) || fseek(file.stream, GAUGE_HEADER, SEEK_SET) != 0))
        failed(&file, path, strerror(errno));
    int result = allocate(&file, sizeof(real));
    if (result == 0) {
        save_slices(&file, fields, path);
        if (lattice->rank == 0)
            complete(&file, draft, path);
        result = agree(&file, 0);
    }
    end(&file);
    return result;
}

/* Real bytes that the header promises, or 0 with a message. */
static size_t header_read(struct gauge_file *file, const char *path) {
    char header[GAUGE_HEADER], precision[8], order[16], text[200];
    const int *size = file->lattice->size;
    int found[DIRECTIONS];
    unsigned long sum;
    if (!(file->stream = fopen(path, "rb"))) {
        failed(file, path, strerror(errno));
        return 0;
    }
    if (fread(header, 1, sizeof header, file->stream) != sizeof header ||
        header[GAUGE_HEADER - 1] != '\n') {
        failed(file, path, "no configuration of this program (first line)");
        return 0;
    }
    header[GAUGE_HEADER - 1] = '\0';
    if (sscanf(header, "assay-su3 1 %7s %d %d %d %d %15s crc32 %lx", precision, &found[0],
               &found[1], &found[2], &found[3], order, &sum) != 7 ||
        (strcmp(precision, "single") != 0 && strcmp(precision, "double") != 0)) {
        failed(file, path, "no configuration of this program (first line)");
        return 0;
    }
    if (strcmp(order, host_is_little() ? "little-endian" : "big-endian") != 0) {
        failed(file, path, "written on a machine of the other byte order");
        return 0;
    }
    if (memcmp(found, size, sizeof found) != 0) {
        snprintf(text, sizeof text,
                 "it holds a lattice of %d x %d x %d x %d, needed is %d x %d x %d x %d", found[0],
                 found[1], found[2], found[3], size[0], size[1], size[2], size[3]);
        failed(file, path, text);
        return 0;
    }
    file->sum = (uint32_t)sum;
    return strcmp(precision, "single") == 0 ? sizeof(float) : sizeof(double);
}

/* Returns the checksum of what was read (rank 0). */
static uint32_t load_slices(struct gauge_file *file, struct fields *fields, const char *path) {
    uint32_t sum = 0;
    for (int t = 0; t < file->lattice->size[3]; t++) {
        if (file->lattice->rank == 0) {
            size_t bytes = slice_bytes(file);
            if (fread(file->slice, 1, bytes, file->stream) != bytes)
                failed(file, path, "it ends too early");
            sum = checksum(sum, file->slice, bytes);
        }
        exchange_parts(file, t, 0);
        if (file->lattice->place[3] == t / file->lattice->local[3])
            empty_part(file, fields, t);
    }
    return sum;
}

static int check_links(struct gauge_file *file, const struct fields *fields, const char *path) {
    double own = fields_deviation(file->lattice, fields), worst;
    if (!(own < 1e30))
        own = 1e30; /* a NaN has no order */
    MPI_Allreduce(&own, &worst, 1, MPI_DOUBLE, MPI_MAX, file->comm);
    if (worst > DEVIATION_MOST && file->lattice->rank == 0)
        failed(file, path, "its links are not unitary to 1e-4");
    return agree(file, 0);
}

int gauge_load(const struct lattice *lattice, struct fields *fields, const char *path,
               MPI_Comm comm, char *message, size_t size) {
    struct gauge_file file;
    int real_bytes = 0;
    begin(&file, lattice, comm, message, size);
    if (lattice->rank == 0)
        real_bytes = (int)header_read(&file, path);
    MPI_Bcast(&real_bytes, 1, MPI_INT, 0, comm);
    int result = allocate(&file, (size_t)real_bytes);
    if (result == 0) {
        uint32_t sum = load_slices(&file, fields, path);
        if (lattice->rank == 0 && message[0] == '\0' && sum != file.sum)
            failed(&file, path, "its checksum is wrong: the file is damaged");
        if (lattice->rank == 0 && message[0] == '\0' && fgetc(file.stream) != EOF)
            failed(&file, path, "it is longer than it should be");
        result = agree(&file, 0);
    }
    if (result == 0)
        result = check_links(&file, fields, path);
    end(&file);
    return result;
}
