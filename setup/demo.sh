#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job, end to end, with `make demo`: a virtual cluster, the campaign `quick`, its report.
# Whatever happens, the cluster that it brought up is taken down. Where none can be, it runs on this machine
# alone. DEMO_NODES and DEMO_NETWORK choose the cluster's shape, IMAGE what its nodes boot, CLUSTER its name.
set -euo pipefail
cd "$(dirname "$0")/.."
cluster=${CLUSTER:-demo}
assay=.venv/bin/assay

# The image is fetched beside the set-up, of which it needs nothing; what keeps it from that is told by
# `cluster up`. Where there are no namespaces it is of no use.
if unshare --map-root-user --mount --net --pid --fork true 2>/dev/null; then
    PYTHONPATH=. "${PYTHON:-python3}" -P virtual_cluster/image_command.py get ${IMAGE:+"$IMAGE"} 2>/dev/null &
    fetching=$!
    trap 'kill "$fetching" 2>/dev/null' EXIT
fi
make --no-print-directory setup
[ -z "${fetching:-}" ] || wait "$fetching" || true
trap - EXIT

up=("$assay" cluster up --name "$cluster" --nodes "${DEMO_NODES:-4}" --network "${DEMO_NETWORK:-gigabit}"
    ${IMAGE:+--image "$IMAGE"})
site=virtual:$cluster
refusal=$(.venv/bin/python -c 'from virtual_cluster import namespaces; print(namespaces.refusal())')
if [ -z "$refusal" ]; then
    "${up[@]}"
    trap '"$assay" cluster down --name "$cluster"' EXIT
else
    echo "No virtual cluster can be here: $refusal."
    echo "So it runs on site local, this machine alone."
    site=local
    [ -e site-config/local/site.yaml ] || "$assay" site init local
fi
# Launches that failed are in the report, which is written all the same.
status=0
"$assay" run "${DEMO_CAMPAIGN:-quick}" --site "$site" || status=$?
[ "$status" -le 1 ] || exit "$status"
report=$("$assay" report | sed -n 's/^ *page: //p')
run=$(realpath --relative-to=. "$(dirname "$report")/..")
trap - EXIT
[ "$site" = local ] || "$assay" cluster down --name "$cluster"
echo
echo "The report is in $(realpath "$report")"
if [ "$site" = local ]; then
    echo "To go on with the same run, add blocks:"
else
    echo "Cluster $cluster is removed. To go on with the same run, bring its like up, and add blocks:"
    printf ' %q' "${up[@]}"
    echo
fi
echo " $assay run --resume $run --blocks 2"
exit "$status"
