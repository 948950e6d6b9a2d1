# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: Apache-2.0
# Sourced by proof scripts after they have set cc: sets library (lam, mpich, openmpi or none), work
# (a folder that is removed at the end) and launch, the command before `-np N PROGRAM`. LAM refuses
# root: root runs it as nobody, who must be able to read the programs. preload NAME…: libraries to
# preload into the ranks of the next launches.

source_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
beside=$(dirname "$(command -v "$cc" || true)")
work=$(mktemp -d)
user=()
launch=()
# A rank that fails ends the others at once: by itself mpirun waits a second before each signal.
openmpi=(--allow-run-as-root --oversubscribe --bind-to none --mca odls_base_sigkill_timeout 0)
library=none
always=

if command -v "$cc" >/dev/null; then
    case $(echo '#include <mpi.h>' | "$cc" -E -dM -x c - 2>/dev/null) in
    *LAM_MPI*) library=lam ;;
    *MPICH_VERSION*) library=mpich ;;
    *OMPI_MAJOR_VERSION*) library=openmpi ;;
    esac
fi

launcher() { # the command with the library's suffix, else the one beside the compiler
    command -v "$beside/$1.$library" || command -v "$beside/$1" || command -v "$1.$library"
}

# shellcheck disable=SC2317  # reached through the trap
halt() {
    if [[ $library == lam ]]; then "${user[@]}" lamhalt >"$work/halt" 2>&1 </dev/null || true; fi
    rm -rf "$work"
}
trap halt EXIT

boot_lam() { # a private session; lamd keeps lamboot's output open, so it goes to a file
    always=$work/libassay_writev.so
    ${HOSTCC:-cc} -O2 -fPIC -shared -o "$always" "$source_here/../daemon/writev_trim.c"
    export LAM_MPI_SESSION_SUFFIX=proof$$ HOME=$work TMPDIR=$work LD_PRELOAD=$always
    chmod 711 "$work"
    if [[ $(id -u) == 0 ]]; then
        chown nobody "$work"
        user=(setpriv --reuid nobody --regid nogroup --clear-groups)
    fi
    cd "$work" || exit 1
    "${user[@]}" lamboot >"$work/boot" 2>&1 </dev/null || { cat "$work/boot"; exit 1; }
    launch=("${user[@]}" "$(launcher mpirun)" -O)
}

preload() {
    local libraries=$always
    for name in "$@"; do libraries=${libraries:+$libraries:}$name; done
    case $library in
    lam) launch=("${user[@]}" env "LD_PRELOAD=$libraries" "$(launcher mpirun)" -x LD_PRELOAD -O) ;;
    mpich) launch=("$(launcher mpiexec)" -genv LD_PRELOAD "$libraries") ;;
    openmpi) launch=("$(launcher mpirun)" "${openmpi[@]}" -x "LD_PRELOAD=$libraries") ;;
    esac
}

case $library in
none) echo "skipped: $cc is no working compiler of LAM, MPICH or Open MPI"; exit 0 ;;
lam) boot_lam ;;
mpich) launch=("$(launcher mpiexec)") ;;
openmpi) launch=("$(launcher mpirun)" "${openmpi[@]}") ;;
esac
