#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the numerical tests (marker `numerical`) as on a lesser processor: one without AVX-512, or
# where this one has none, one without AVX2. Other code paths of NumPy, OpenBLAS and our kernels
# round differently; no test may depend on that. Called by `make test-other-processor`.
set -euo pipefail
cd "$(dirname "$0")/.."

has() { grep -qw "$1" /proc/cpuinfo; }

if has avx512f; then
    lesser='AVX512|X86_V4' OPENBLAS_CORETYPE=Haswell SU3_VECTOR_SETS=avx2
elif has avx2; then
    lesser='.' OPENBLAS_CORETYPE=Nehalem SU3_VECTOR_SETS=
else
    echo "test-other-processor: this processor has no AVX2; there is nothing to leave out"
    exit 0
fi
# NumPy warns of names that it does not know and of features that the processor lacks: only those
# are named that this NumPy would use here.
NPY_DISABLE_CPU_FEATURES=$(.venv/bin/python - "$lesser" <<'EOF'
import re
import sys

import numpy as np

found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
print(" ".join(name for name in found if re.match(sys.argv[1], name)))
EOF
)
export NPY_DISABLE_CPU_FEATURES OPENBLAS_CORETYPE SU3_VECTOR_SETS
echo "test-other-processor: without ${NPY_DISABLE_CPU_FEATURES:-anything} in NumPy;" \
    "OpenBLAS for $OPENBLAS_CORETYPE; vector kernels: baseline $SU3_VECTOR_SETS"
exec .venv/bin/python -W error::ImportWarning -m pytest -m numerical --numprocesses=auto \
    --maxprocesses=4 --dist=loadscope --no-loadscope-reorder "$@"
