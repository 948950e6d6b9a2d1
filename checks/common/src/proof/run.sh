#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CC OUT: the proofs with ranks: run the programs below OUT with CC's launcher on this host.
set -euo pipefail

export cc=$1 # for launcher.sh
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
failed=0
# shellcheck source-path=SCRIPTDIR source=launcher.sh
source "$here/launcher.sh"

step() { # step NAME RANKS KIND ARGUMENT… -- PROGRAM OPTION…: run, judge output and exit status
    local name=$1 ranks=$2 judge=() status=0
    shift 2
    while [[ $1 != -- ]]; do judge+=("$1"); shift; done
    echo "== $library: $name"
    timeout 600 "${launch[@]}" -np "$ranks" "$out/$2" "${@:3}" \
        >"$work/lines" 2>"$work/errors" </dev/null || status=$?
    if ! LD_PRELOAD='' python3 "$here/../../tests/prove_lines.py" "${judge[@]}" <"$work/lines" ||
        { [[ ${judge[0]} == error ]] && ((status == 0)); } ||
        { [[ ${judge[0]} != error ]] && ((status != 0)); }; then
        echo "WRONG  exit status $status"; tail -n 5 "$work/errors"; failed=1
    fi
}

now=${EPOCHREALTIME/[!0-9]/.}
for ranks in 1 2 3 4; do
    echo "== $library: prove_timing, $ranks ranks"
    "${launch[@]}" -np "$ranks" "$out/prove_timing" </dev/null || failed=1
    step "start-up, $ranks ranks" "$ranks" end startup "$ranks" -- startup --launched-at "$now"
done
echo "== $library: prove_hosts"
"${launch[@]}" -np 4 "$out/prove_hosts" </dev/null || failed=1
export OPENBLAS_NUM_THREADS=1
nodes=(--kernels 'stream,dgemm,linpack_100,arithmetic' --stream-bytes 800000 --dgemm-n 128 --repetitions 1)
for ranks in 1 2 3 4; do
    step "node, $ranks ranks" "$ranks" end node "$ranks" -- node "${nodes[@]}" --turns
done
step "nodes at once" 2 end node 2 -- node --kernels sieve,floatmath,dhrystone,whetstone,memory --memory-bytes 4000000
for kernel in stream dgemm hpl linpack_100 arithmetic sieve whetstone memory; do
    step "fault in $kernel found" 1 error "on " -- node "${nodes[@]}" --kernels "$kernel" --hpl-n 100 --inject-fault
done
small=(--sizes '0,1,7,300,200000' --iterations 20)
step "ping-pong" 2 end pt2pt 2 -- pt2pt "${small[@]}"
step "reply before wait" 2 stale pt2pt 2 -- pt2pt "${small[@]}" --reply-before-wait --constructs Send/Irecv,Issend/Irecv
step "fault refused" 2 error "Send/Recv" -- pt2pt --reply-before-wait
step "three ranks refused" 3 error "exactly 2" -- pt2pt
step "wrong size refused" 2 error "3k" -- pt2pt --sizes 3k
step "other host refused" 2 error "must not be subtracted" -- startup --launch-host elsewhere.invalid
exit "$failed"
