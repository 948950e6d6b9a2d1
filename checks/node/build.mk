# SPDX-License-Identifier: Apache-2.0
BLAS_PROGRAMS += node
node_LIBS = $(BLAS)
LOCAL_PROOFS += prove_node

$(OUT)/prove_node: $(OUT)/obj/node/proof/prove_node.o $(filter-out %/node.o,$(node_OBJECTS)) $(LIBRARY)
	$(CC) -o $@ $^ $(BLAS) $(LIBS)

# The steps of vetting a node: without MPI and without a BLAS, made with HOSTCC by `make vet CC=cc`.
.PHONY: vet
vet: $(OUT)/vet
VET_OBJECTS = $(patsubst %,$(OUT)/obj/node/%.o,stream multiply \
              $(addprefix vet/,blas core_pairs disk latency link vet work)) $(OUT)/library/assay/usage.o

$(OUT)/vet: $(VET_OBJECTS) $(SOCKETS_OBJECTS)
	$(HOSTCC) -pthread -o $@ $^ -lm
