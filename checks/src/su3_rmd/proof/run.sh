#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CC OUT PRECISION CHECK…: run the check programs OUT/CHECK_PRECISION at 1 to 4 ranks and
# check_program.py, with CC's own launcher on this host. LAM does not run as root: root runs it as
# nobody, who must be able to read OUT.
set -euo pipefail

cc=$1
out=$(cd "$2" && pwd)
precision=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
beside=$(dirname "$(command -v "$cc" || true)")
work=$(mktemp -d)
failed=0
user=()
launch=()
library=none

if command -v "$cc" >/dev/null; then
    case $(echo '#include <mpi.h>' | "$cc" -E -dM -x c - 2>/dev/null) in
    *LAM_MPI*) library=lam ;;
    *MPICH_VERSION*) library=mpich ;;
    *OMPI_MAJOR_VERSION*) library=openmpi ;;
    esac
fi

launcher() { # the name with the library's suffix, else the plain one beside the compiler
    command -v "$beside/$1.$library" || command -v "$beside/$1" || command -v "$1.$library"
}

# shellcheck disable=SC2317  # reached through the trap
halt() {
    if [[ $library == lam ]]; then "${user[@]}" lamhalt >"$work/halt" 2>&1 </dev/null || true; fi
    rm -rf "$work"
}
trap halt EXIT

boot_lam() { # a private session; lamd keeps lamboot's output open, hence the file
    local trim=$work/libassay_writev.so
    ${HOSTCC:-cc} -O2 -fPIC -shared -o "$trim" "$here/../../daemon/writev_trim.c"
    export LAM_MPI_SESSION_SUFFIX=su3$$ HOME=$work TMPDIR=$work LD_PRELOAD=$trim
    chmod 711 "$work"
    if [[ $(id -u) == 0 ]]; then
        chown nobody "$work"
        user=(setpriv --reuid nobody --regid nogroup --clear-groups)
    fi
    cd "$work"
    "${user[@]}" lamboot >"$work/boot" 2>&1 </dev/null || { cat "$work/boot"; exit 1; }
    launch=("${user[@]}" "$(launcher mpirun)" -O)
}

case $library in
none) echo "skipped: $cc is no working compiler of LAM, MPICH or Open MPI"; exit 0 ;;
lam) boot_lam ;;
mpich) launch=("$(launcher mpiexec)") ;;
openmpi) launch=("$(launcher mpirun)" --allow-run-as-root --oversubscribe --bind-to none) ;;
esac
for ranks in 1 2 3 4; do
    for check in "$@"; do
        echo "== $library: $check $precision, $ranks ranks"
        timeout 300 "${launch[@]}" -np "$ranks" "$out/${check}_$precision" </dev/null || failed=1
    done
done
mkdir -p "$work/files"
chmod 777 "$work/files"
python3 -B "$here/check_program.py" "$out/su3_rmd_$precision" "$precision" "$work/files" \
    "${launch[@]}" || failed=1
exit "$failed"
