/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Evidence of where and with which library an MPI program ran, without changing the program: linked
 * in as evidence.o or preloaded as libassay_evidence.so (LD_PRELOAD). It wraps MPI_Init,
 * MPI_Init_thread and MPI_Finalize through MPI's profiling interface. In MPI_Finalize rank 0 prints
 * one JSON line (collective, on its own communicator): the library and its file, the place of every
 * rank, and the bytes that arrived at each node when the node before sent a known number. A program
 * that crashes or aborts prints none.
 *
 * ASSAY_PROBE_BYTES: bytes that each node sends to the next, 0 … 64 MiB, default 262144; 0 = no
 * probe (checks/common/evidence.py asks for 64 KiB at least). Not covered: Fortran programs whose
 * library enters PMPI_ directly. */

/* CLOCK_REALTIME, s, when this process started (read in a constructor). */
extern double assay_first_instruction_s;

/* Duration of the library's own MPI_Finalize on this rank, s; 0 until it has returned. */
extern double assay_finalise_s;
