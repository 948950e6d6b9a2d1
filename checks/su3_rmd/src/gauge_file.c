/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge_file.h"

#include "checksum.h"
#include "gauge_slices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEVIATION_MOST 1e-4

enum { DRAFT = 1024 };

/* A file on rank 0 and its slices on all ranks. */
struct gauge_file {
    const struct lattice *lattice;
    MPI_Comm comm;
    FILE *stream;
    struct gauge_slices slices;
    uint32_t sum;
    char *message;
    size_t size;
};

static int host_is_little(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first;
}

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

/* -1 on every rank, with rank 0's message, if rank 0 has one or a rank could not allocate.
 * Collective. */
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
    return agree(file,
                 gauge_slices_make(&file->slices, file->lattice, file->comm, real_bytes) != 0);
}

static void end(struct gauge_file *file) {
    gauge_slices_free(&file->slices);
    if (file->stream)
        fclose(file->stream);
}

/* Rank 0: write the header, which holds the checksum, and rename the file. */
static void complete(struct gauge_file *file, const char *draft, const char *path) {
    char header[GAUGE_HEADER];
    const int *size = file->lattice->size;
    memset(header, ' ', GAUGE_HEADER);
    int used =
        snprintf(header, GAUGE_HEADER, "assay-su3 1 %s %d %d %d %d %s crc32 %08lx", REAL_NAME,
                 size[0], size[1], size[2], size[3],
                 host_is_little() ? "little-endian" : "big-endian", (unsigned long)file->sum);
    header[used] = ' ';
    header[GAUGE_HEADER - 1] = '\n';
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
        const size_t bytes = gauge_slices_bytes(&file.slices);
        for (int t = 0; t < lattice->size[3]; t++) {
            gauge_slices_gather(&file.slices, fields, t);
            if (lattice->rank != 0 || message[0])
                continue;
            file.sum = checksum(file.sum, file.slices.slice, bytes);
            if (fwrite(file.slices.slice, 1, bytes, file.stream) != bytes)
                failed(&file, path, strerror(errno));
        }
        if (lattice->rank == 0)
            complete(&file, draft, path);
        result = agree(&file, 0);
    }
    end(&file);
    return result;
}

/* Rank 0: open the file and read its header. Bytes of a real in it, or 0 with a message. */
static size_t header_read(struct gauge_file *file, const char *path) {
    char header[GAUGE_HEADER + 1] = "", precision[8], order[16], text[200];
    const char *wrong = NULL;
    const int *size = file->lattice->size;
    int found[DIRECTIONS];
    unsigned long sum;
    if (!(file->stream = fopen(path, "rb")))
        wrong = strerror(errno);
    else if (fread(header, 1, GAUGE_HEADER, file->stream) != GAUGE_HEADER ||
             header[GAUGE_HEADER - 1] != '\n' ||
             sscanf(header, "assay-su3 1 %7s %d %d %d %d %15s crc32 %lx", precision, &found[0],
                    &found[1], &found[2], &found[3], order, &sum) != 7 ||
             (strcmp(precision, "single") != 0 && strcmp(precision, "double") != 0))
        wrong = "no configuration of this program (first line)";
    else if (strcmp(order, host_is_little() ? "little-endian" : "big-endian") != 0)
        wrong = "written on a machine of the other byte order";
    else if (memcmp(found, size, sizeof found) != 0) {
        snprintf(text, sizeof text,
                 "it holds a lattice of %d x %d x %d x %d, needed is %d x %d x %d x %d", found[0],
                 found[1], found[2], found[3], size[0], size[1], size[2], size[3]);
        wrong = text;
    }
    if (wrong) {
        failed(file, path, wrong);
        return 0;
    }
    file->sum = (uint32_t)sum;
    return strcmp(precision, "single") == 0 ? sizeof(float) : sizeof(double);
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
        const size_t bytes = gauge_slices_bytes(&file.slices);
        uint32_t sum = 0;
        for (int t = 0; t < lattice->size[3]; t++) {
            if (lattice->rank == 0) {
                if (fread(file.slices.slice, 1, bytes, file.stream) != bytes)
                    failed(&file, path, "it ends too early");
                sum = checksum(sum, file.slices.slice, bytes);
            }
            gauge_slices_scatter(&file.slices, fields, t);
        }
        if (lattice->rank == 0 && message[0] == '\0' && sum != file.sum)
            failed(&file, path, "its checksum is wrong: the file is damaged");
        if (lattice->rank == 0 && message[0] == '\0' && fgetc(file.stream) != EOF)
            failed(&file, path, "it is longer than it should be");
        result = agree(&file, 0);
    }
    if (result == 0) {
        double own = fields_deviation(lattice, fields), worst;
        if (!(own < 1e30))
            own = 1e30; /* MPI_MAX does not order a NaN */
        MPI_Allreduce(&own, &worst, 1, MPI_DOUBLE, MPI_MAX, comm);
        if (worst > DEVIATION_MOST && lattice->rank == 0)
            failed(&file, path, "its links are not unitary to 1e-4");
        result = agree(&file, 0);
    }
    end(&file);
    return result;
}
