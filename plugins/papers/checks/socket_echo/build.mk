# SPDX-License-Identifier: Apache-2.0
# The echoes over TCP and UDP are built without MPI; what both are asked and report is the echo's.
ECHOES_WITHOUT_MPI := tcp_echo udp_echo
FURTHER += $(ECHOES_WITHOUT_MPI)

define echo_without_mpi
$$(OUT)/$(1): $$(patsubst $$(socket_echo_FOLDER)/%.c,$$(OUT)/obj/socket_echo/%.o, \
                $$(wildcard $$(socket_echo_FOLDER)/$(1)/*.c)) $$(OUT)/obj/echo/points.o $$(SOCKETS_OBJECTS)
	$$(HOSTCC) -o $$@ $$^ -lm
endef
$(foreach name,$(ECHOES_WITHOUT_MPI),$(eval $(call echo_without_mpi,$(name))))
$(OUT)/obj/socket_echo/%.o: override CFLAGS += -iquote $(echo_FOLDER)
