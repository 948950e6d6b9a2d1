# SPDX-License-Identifier: Apache-2.0
# The stream over TCP is built without MPI.
FURTHER += tcp_stream

$(OUT)/tcp_stream: $(OUT)/obj/streams/tcp_stream/tcp_stream.o $(SOCKETS_OBJECTS)
	$(HOSTCC) -o $@ $^ -lm
