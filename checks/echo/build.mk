# SPDX-License-Identifier: Apache-2.0
# The echo over TCP has no MPI, so that nothing of a library is in its way.
FURTHER += tcp_echo
TCP_ECHO_OBJECTS := $(patsubst $(echo_FOLDER)/%.c,$(OUT)/obj/echo/%.o, \
                      $(echo_FOLDER)/points.c $(wildcard $(echo_FOLDER)/tcp_echo/*.c)) \
                    $(patsubst %,$(OUT)/library/assay/%.o, \
                      args clock fail_line json payload report sampling shuffle sizes)

$(OUT)/tcp_echo: $(TCP_ECHO_OBJECTS)
	$(HOSTCC) -o $@ $^ -lm
