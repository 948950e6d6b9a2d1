# SPDX-License-Identifier: Apache-2.0
# make -f ready.mk READY=/folder OUT=/some/dir TARGET: the Makefile's main targets, copied from a folder
# of programs built beforehand; only programs of OUTSIDE folders are compiled. Other targets are made by
# the Makefile. Copied, so that a run keeps its programs when the folder is rebuilt.
OUT ?= out
OUTSIDE ?=
NEEDED_programs = stepkeeper libassay_evidence.so pt2pt
NEEDED_blas-programs = node
NEEDED_hpl = xhpl
NEEDED_su3_rmd = su3_rmd_single su3_rmd_double

.PHONY: programs blas-programs hpl su3_rmd
programs blas-programs hpl su3_rmd:
	@mkdir -p $(OUT)
	@for name in $(NEEDED_$@); do test -f "$(READY)/$$name" || { \
	  echo "$(READY): no $$name there; was the build complete?" >&2; exit 2; }; done
	$(if $(and $(filter programs,$@),$(strip $(OUTSIDE))),+$(MAKE) -f Makefile programs FOLDERS="$(OUTSIDE)" OUT=$(OUT) CC=$(CC))
	cp -Lf "$(READY)"/* $(OUT)/

ready.mk: ;
%:
	+$(MAKE) -f Makefile $@ OUT=$(OUT) CC=$(CC)
