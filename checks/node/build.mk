# SPDX-License-Identifier: Apache-2.0
BLAS_PROGRAMS += node
node_LIBS = $(BLAS)
LOCAL_PROOFS += prove_node

$(OUT)/prove_node: $(OUT)/obj/node/proof/prove_node.o $(filter-out %/node.o,$(node_OBJECTS)) $(LIBRARY)
	$(CC) -o $@ $^ $(BLAS) $(LIBS)
