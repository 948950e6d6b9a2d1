# SPDX-License-Identifier: Apache-2.0
# No MPI: make pvm.
PROGRAMS := $(filter-out pvm_echo,$(PROGRAMS))
PVM_PROGRAMS += pvm_echo
