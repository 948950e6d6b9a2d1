# SPDX-License-Identifier: Apache-2.0
# A library to preload, which has its own Makefile, and no program.
PROGRAMS := $(filter-out mpiprofile,$(PROGRAMS))
FURTHER += libassay_profile.so

.PHONY: mpiprofile
$(OUT)/libassay_profile.so: mpiprofile
mpiprofile:
	+$(MAKE) -C $(mpiprofile_FOLDER) $(abspath $(OUT))/libassay_profile.so CC=$(CC) \
	         OUT=$(abspath $(OUT)) LIBRARY=$(CURDIR)
