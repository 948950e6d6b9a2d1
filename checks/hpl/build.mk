# SPDX-License-Identifier: Apache-2.0
# HPL of the unpacked folder HPL_SOURCE. The HPL 2.0 inside HPCC 1.5.0 becomes xhpl, with our main
# program: HPCC renamed HPL's files and forces output to a file; a generated copy of HPL_pdinfo.c
# restores HPL.dat and its output device. The linker wraps HPL_pdtest. The HPL of netlib (hpl-2.3)
# becomes xhpl-netlib, with its own main program.
PROGRAMS := $(filter-out hpl,$(PROGRAMS))
OPTIONAL += xhpl xhpl-netlib
HPL_SOURCE ?=
HPL_OF_NETLIB := $(wildcard $(HPL_SOURCE)/testing/ptest/HPL_pddriver.c)
HPL_TOP = $(HPL_SOURCE)$(if $(HPL_OF_NETLIB),,/hpl)
HPL_OBJ = $(OUT)/obj/hpl/$(if $(HPL_OF_NETLIB),netlib,hpcc)
HPL_CFLAGS = $(OPTIMISE) -w -DHPL_CALL_CBLAS -include $(hpl_FOLDER)/mpi2_names.h -I. \
             -I$(HPL_TOP)/include $(BLAS_CFLAGS) $(CFLAGS)
HPL_FILES = $(wildcard $(HPL_TOP)/src/*/*.c \
            $(addprefix $(HPL_TOP)/testing/,matgen/*.c pmatgen/*.c ptest/*.c ptimer/*.c timer/*.c))
HPL_OBJECTS = $(HPL_FILES:$(HPL_TOP)/%.c=$(HPL_OBJ)/%.o)
HPCC_OBJECTS = $(filter-out %/ptest/HPL_pdinfo.o,$(HPL_OBJECTS)) $(HPL_OBJ)/HPL_pdinfo.o

.PHONY: hpl hpl-source
hpl: hpl-source
	+$(MAKE) $(OUT)/xhpl$(if $(HPL_OF_NETLIB),-netlib)

hpl-source:
	@test -f "$(HPL_TOP)/testing/ptest/HPL_pdinfo.c" || { \
	  echo "HPL_SOURCE='$(HPL_SOURCE)': neither testing/ptest/HPL_pddriver.c is there, as in netlib's" \
	       "hpl-2.3, nor hpl/testing/ptest/HPL_pdinfo.c, as in hpcc-1.5.0" >&2; exit 2; }

$(HPL_OBJ)/%.o: $(HPL_TOP)/%.c $(hpl_FOLDER)/mpi2_names.h
	@mkdir -p $(@D)
	$(CC) $(HPL_CFLAGS) -c $< -o $@

$(HPL_OBJ)/HPL_pdinfo.c: $(HPL_TOP)/testing/ptest/HPL_pdinfo.c
	@mkdir -p $(@D)
	sed -e 's/"hpccinf.txt"/"HPL.dat"/' -e '/fid = 8; /d' \
	    -e '/strcpy( file, "hpccoutf.txt" );/d' $< > $@.new
	@test "$$(diff $< $@.new | grep -c '^<')" -eq 3 || { \
	  echo "$<: not the source of HPCC 1.5.0" >&2; exit 2; }
	mv $@.new $@

$(HPL_OBJ)/HPL_pdinfo.o: $(HPL_OBJ)/HPL_pdinfo.c $(hpl_FOLDER)/mpi2_names.h
	$(CC) $(HPL_CFLAGS) -c $< -o $@

$(OUT)/obj/hpl/hpl_main.o: $(hpl_FOLDER)/hpl_main.c $(wildcard assay/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c11 $(WARNINGS) -Wno-strict-prototypes $(HPL_CFLAGS) -c $< -o $@

$(OUT)/xhpl: $(OUT)/obj/hpl/hpl_main.o $(EVIDENCE_OBJECT) $(HPCC_OBJECTS) $(LIBRARY)
	$(CC) -Wl,--wrap=HPL_pdtest -o $@ $^ $(BLAS) $(LIBS)

$(OUT)/xhpl-netlib: $(HPL_OBJECTS)
	$(CC) -o $@ $^ $(BLAS) $(LIBS)
