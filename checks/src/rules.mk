# SPDX-License-Identifier: Apache-2.0
# How everything here is compiled. CC: an MPI library's compiler; OUT: where all output goes.
CC ?= mpicc
HOSTCC ?= cc
OUT ?= out
BLAS ?= -lopenblas
OPTIMISE ?= -O2
WARNINGS = -Wall -Wextra -Wstrict-prototypes -Werror
ASSAY_CFLAGS = -std=c11 $(OPTIMISE) $(WARNINGS) -MMD -MP -I. $(CFLAGS)

$(OUT)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ASSAY_CFLAGS) -c $< -o $@

# Position-independent and hidden but for MPI's own names: safe inside any foreign program.
$(OUT)/hidden/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ASSAY_CFLAGS) -fPIC -fvisibility=hidden -c $< -o $@
