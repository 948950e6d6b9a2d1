# SPDX-License-Identifier: Apache-2.0
# The echo over TCP is built without MPI.
FURTHER += tcp_echo
TCP_ECHO_OBJECTS := $(patsubst $(echo_FOLDER)/%.c,$(OUT)/obj/echo/%.o, \
                      $(echo_FOLDER)/points.c $(wildcard $(echo_FOLDER)/tcp_echo/*.c)) \
                    $(patsubst %,$(OUT)/library/assay/%.o, \
                      args buffer clock fail_line json payload report sampling shuffle sizes)

$(OUT)/tcp_echo: $(TCP_ECHO_OBJECTS)
	$(HOSTCC) -o $@ $^ -lm
