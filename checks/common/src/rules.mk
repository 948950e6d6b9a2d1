# SPDX-License-Identifier: Apache-2.0
# How everything here is compiled. CC: an MPI library's compiler; OUT: where all output goes.
CC ?= mpicc
HOSTCC ?= cc
OUT ?= out
BLAS ?= -lopenblas
OPTIMISE ?= -O2
# WERROR: -Werror where warnings are to fail, as in `make lint`.
WARNINGS = -Wall -Wextra -Wstrict-prototypes $(WERROR)
ASSAY_CFLAGS = -std=c11 $(OPTIMISE) $(WARNINGS) -MMD -MP -I. $(CFLAGS)
# No MPI in these: any C compiler.
HOST_CFLAGS = -std=c11 $(OPTIMISE) $(WARNINGS) $(CFLAGS)

$(OUT)/library/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ASSAY_CFLAGS) -c $< -o $@

# Position-independent and hidden but for MPI's own names: safe inside any foreign program.
$(OUT)/hidden/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ASSAY_CFLAGS) -fPIC -fvisibility=hidden -c $< -o $@

# $(call folder_rules,NAME,FOLDER): where the folder of a check is, and the objects of its program.
define folder_rules
$(1)_FOLDER := $(2)
$(1)_OBJECTS := $$(patsubst $(2)/%.c,$$(OUT)/obj/$(1)/%.o,$$(wildcard $(2)/*.c))

$$(OUT)/obj/$(1)/%.o: $(2)/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(ASSAY_CFLAGS) -iquote $(2) -c $$< -o $$@
endef
