#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CC OUT: run the MPI programs built below OUT with CC's own launcher on this host.
# LAM does not run as root: root runs it as nobody, who must be able to read OUT.
set -euo pipefail

cc=$1
out=$(cd "$2" && pwd)
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
    export LAM_MPI_SESSION_SUFFIX=proof$$ HOME=$work TMPDIR=$work LD_PRELOAD=$out/libassay_writev.so
    chmod 711 "$work"
    if [[ $(id -u) == 0 ]]; then
        chown nobody "$work"
        user=(setpriv --reuid nobody --regid nogroup --clear-groups)
    fi
    cd "$work"
    "${user[@]}" lamboot >"$work/boot" 2>&1 </dev/null || { cat "$work/boot"; exit 1; }
    launch=("${user[@]}" "$(launcher mpirun)" -O)
}

step() { # step NAME RANKS KIND ARGUMENT… -- PROGRAM OPTION…: run, judge output and exit status
    local name=$1 ranks=$2 judge=() status=0
    shift 2
    while [[ $1 != -- ]]; do judge+=("$1"); shift; done
    echo "== $library: $name"
    timeout 120 "${launch[@]}" -np "$ranks" "$out/$2" "${@:3}" \
        >"$work/lines" 2>"$work/errors" </dev/null || status=$?
    if ! LD_PRELOAD='' python3 "$here/check_lines.py" "${judge[@]}" <"$work/lines" ||
        { [[ ${judge[0]} == error ]] && ((status == 0)); } ||
        { [[ ${judge[0]} != error ]] && ((status != 0)); }; then
        echo "WRONG  exit status $status"; tail -n 5 "$work/errors"; failed=1
    fi
}

case $library in
none) echo "skipped: $cc is no working compiler of LAM, MPICH or Open MPI"; exit 0 ;;
lam) boot_lam ;;
mpich) launch=("$(launcher mpiexec)") ;;
openmpi) launch=("$(launcher mpirun)" --allow-run-as-root --oversubscribe --bind-to none) ;;
esac
now=$EPOCHREALTIME
for ranks in 1 2 3 4; do
    "${launch[@]}" -np "$ranks" "$out/check_timing" </dev/null || failed=1
    step "start-up, $ranks ranks" "$ranks" end startup "$ranks" -- startup --launched-at "$now"
done
small=(--sizes '0,1,7,300,200000' --iterations 20)
step "ping-pong" 2 end pt2pt 2 -- pt2pt "${small[@]}"
step "reply before wait" 2 stale pt2pt 2 -- pt2pt "${small[@]}" --reply-before-wait --constructs Send/Irecv,Issend/Irecv
step "fault refused" 2 error "Send/Recv" -- pt2pt --reply-before-wait
step "three ranks refused" 3 error "exactly 2" -- pt2pt
step "wrong size refused" 2 error "3k" -- pt2pt --sizes 3k
step "other host refused" 2 error "must not be subtracted" -- startup --launch-host elsewhere.invalid
exit "$failed"
