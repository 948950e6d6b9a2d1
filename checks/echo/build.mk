# SPDX-License-Identifier: Apache-2.0
# The echoes over TCP and UDP are built without MPI.
ECHOES_WITHOUT_MPI := tcp_echo udp_echo
FURTHER += $(ECHOES_WITHOUT_MPI)

define echo_without_mpi
$$(OUT)/$(1): $$(patsubst $$(echo_FOLDER)/%.c,$$(OUT)/obj/echo/%.o, \
                $$(echo_FOLDER)/points.c $$(wildcard $$(echo_FOLDER)/$(1)/*.c)) $$(SOCKETS_OBJECTS)
	$$(HOSTCC) -o $$@ $$^ -lm
endef
$(foreach name,$(ECHOES_WITHOUT_MPI),$(eval $(call echo_without_mpi,$(name))))
