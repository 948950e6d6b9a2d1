/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* HPL 2.0 uses two MPI-1 functions that MPI-3 removed; all our libraries have the MPI-2
 * replacements. Included before every file of HPL. */
#include <mpi.h>

#undef MPI_Address
#undef MPI_Type_struct
#define MPI_Address MPI_Get_address
#define MPI_Type_struct MPI_Type_create_struct
