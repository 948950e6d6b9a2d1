/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_EVIDENCE_H
#define ASSAY_EVIDENCE_H

/* Evidence that a run was what it claims to be, for any MPI program, unchanged: linked in as
 * evidence.o or laid before a foreign program as libassay_evidence.so (LD_PRELOAD). It wraps
 * MPI_Init, MPI_Init_thread and MPI_Finalize through MPI's profiling interface; in MPI_Finalize
 * rank 0 prints one JSON line (collective, on a communicator of its own): which library really
 * runs and from which file, where every rank is, and how many bytes arrived at each node when the
 * next node sent it a known number. Nothing is printed for a program that died or aborted.
 *
 * ASSAY_PROBE_BYTES: bytes each node sends to the next one, 0 … 64 MiB, default 262144; 0 = no
 * probe. Fortran programs whose library enters PMPI_ directly are not seen. */

/* CLOCK_REALTIME of this process's first instruction (a constructor), seconds. */
extern double assay_first_instruction_s;

/* Seconds that the library's own MPI_Finalize took on this rank; 0 until it has returned. */
extern double assay_finalise_s;

#endif
