# SPDX-License-Identifier: Apache-2.0
# The HPL 2.0 inside HPCC 1.5.0 (HPL_SOURCE: the unpacked folder), with our main program. HPCC renamed
# HPL's files and forces output to a file; a generated copy of HPL_pdinfo.c restores HPL.dat and its
# output device. The linker wraps HPL_pdtest.
PROGRAMS := $(filter-out hpl,$(PROGRAMS))
OPTIONAL += xhpl
HPL_SOURCE ?=
HPL_CFLAGS = $(OPTIMISE) -w -DHPL_CALL_CBLAS -include $(hpl_FOLDER)/mpi2_names.h -I. \
             -I$(HPL_SOURCE)/hpl/include $(BLAS_CFLAGS) $(CFLAGS)
HPL_FILES = $(filter-out %/HPL_pdinfo.c,$(wildcard $(HPL_SOURCE)/hpl/src/*/*.c \
            $(addprefix $(HPL_SOURCE)/hpl/testing/,matgen/*.c pmatgen/*.c ptest/*.c ptimer/*.c timer/*.c)))
HPL_OBJECTS = $(patsubst $(HPL_SOURCE)/hpl/%.c,$(OUT)/obj/hpl/hpcc/%.o,$(HPL_FILES)) $(OUT)/obj/hpl/hpcc/HPL_pdinfo.o

.PHONY: hpl hpl-source
hpl: hpl-source
	+$(MAKE) $(OUT)/xhpl

hpl-source:
	@test -f "$(HPL_SOURCE)/hpl/testing/ptest/HPL_pdinfo.c" || { \
	  echo "HPL_SOURCE='$(HPL_SOURCE)': no hpl/testing/ptest/HPL_pdinfo.c there;" \
	       "give the unpacked hpcc-1.5.0 folder" >&2; exit 2; }

$(OUT)/obj/hpl/hpcc/%.o: $(HPL_SOURCE)/hpl/%.c $(hpl_FOLDER)/mpi2_names.h
	@mkdir -p $(@D)
	$(CC) $(HPL_CFLAGS) -c $< -o $@

$(OUT)/obj/hpl/hpcc/HPL_pdinfo.c: $(HPL_SOURCE)/hpl/testing/ptest/HPL_pdinfo.c
	@mkdir -p $(@D)
	sed -e 's/"hpccinf.txt"/"HPL.dat"/' -e '/fid = 8; /d' \
	    -e '/strcpy( file, "hpccoutf.txt" );/d' $< > $@.new
	@test "$$(diff $< $@.new | grep -c '^<')" -eq 3 || { \
	  echo "$<: not the source of HPCC 1.5.0" >&2; exit 2; }
	mv $@.new $@

$(OUT)/obj/hpl/hpcc/HPL_pdinfo.o: $(OUT)/obj/hpl/hpcc/HPL_pdinfo.c $(hpl_FOLDER)/mpi2_names.h
	$(CC) $(HPL_CFLAGS) -c $< -o $@

$(OUT)/obj/hpl/hpl_main.o: $(hpl_FOLDER)/hpl_main.c $(wildcard assay/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c11 $(WARNINGS) -Wno-strict-prototypes $(HPL_CFLAGS) -c $< -o $@

$(OUT)/xhpl: $(OUT)/obj/hpl/hpl_main.o $(EVIDENCE_OBJECT) $(HPL_OBJECTS) $(LIBRARY)
	$(CC) -Wl,--wrap=HPL_pdtest -o $@ $^ $(BLAS) $(LIBS)
