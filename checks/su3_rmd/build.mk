# SPDX-License-Identifier: Apache-2.0
# The lattice program has its own Makefile: kernels need flags of their own.
OPTIONAL += su3_rmd_single su3_rmd_double

.PHONY: su3_rmd
su3_rmd: $(EVIDENCE_OBJECT)
	+for precision in single double; do \
	  $(MAKE) -C $(su3_rmd_FOLDER)/src su3_rmd CC=$(CC) OUT=$(abspath $(OUT)) PRECISION=$$precision \
	    LIBRARY_SOURCES=$(CURDIR) EVIDENCE_OBJECT=$(abspath $(EVIDENCE_OBJECT)) || exit; \
	done
