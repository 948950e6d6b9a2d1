# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# For session.sh: a library's daemons on the job's hosts, booted, looked for and halted.
# What the library's own part (lam.sh, prte.sh, pvm.sh) says is used here: daemon_environment sets
# boot_command; daemon_host prints a host's line of hosts_file; daemon_halt halts, by a command that
# has $halt_s seconds. Each host has a folder of its own for temporary files, on the others made and
# removed by step.sh, which notes the end of its daemons in $daemons.ended.HOST; the daemon of this
# host is a child of the keeper.
# shellcheck source=lam.sh
. "$here/$daemons.sh"

boot() {
    hosts_file=$daemons.hosts
    # Nobody else on the host can take a name that nobody can guess.
    export ASSAY_STEPKEEPER=$here/stepkeeper
    ASSAY_NODE_TMP=/tmp/assay-$daemons-${ASSAY_LAUNCH_ID:-$SLURM_JOB_ID}-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
    export ASSAY_NODE_TMP
    node_tmp=$ASSAY_NODE_TMP-$(hostname)
    mkdir -m 700 "$node_tmp" || failed "cannot make $node_tmp"
    export TMPDIR=$node_tmp
    daemon_environment
    for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do daemon_host "$host"; done >"$hosts_file"
    stamp boot_begin
    exec 3< <(exec "$ASSAY_STEPKEEPER" - "${boot_command[@]}" 2>&1 </dev/null)
    keeper=$!
    local line status=none
    while [ "$status" = none ] && IFS= read -r line <&3; do
        printf '%s\n' "$line" >>"$daemons.boot.out"
        case $line in "stepkeeper: "*) status=${line#stepkeeper: } ;; esac
    done
    stamp boot_end
    [ "$status" = 0 ] && return
    cat "$daemons.boot.out" >&2
    failed "booting the daemons of $daemons failed with status $status"
}

# Names the hosts whose daemon has ended before it was halted; one that ended with the launch is noted
# soon after it.
tell_dead_daemons() {
    local file line dead="" here_alive _
    for _ in 1 2 3 4 5; do
        sleep 0.1
        here_alive=no
        for file in /proc/[0-9]*/stat; do
            { IFS= read -r line <"$file"; } 2>/dev/null || continue
            [[ $line == *"($daemon) "[^ZX]" $keeper "* ]] && here_alive=yes
        done
        [ $here_alive = yes ] || dead=" $(hostname)"
        for file in "$daemons".ended.*; do
            [ -e "$file" ] && dead="$dead ${file#"$daemons".ended.}"
        done
        [ -z "$dead" ] || break
    done
    [ -z "$dead" ] || say error "\"where\":\"session\",\"message\":\"$daemon had ended on$dead\""
}

halt() {
    local load halt_s
    stamp halt_begin
    # By the load of this host, as records/waiting.py scales limits.
    read -r load _ </proc/loadavg
    halt_s=$((${load%.*} / $(nproc)))
    halt_s=$((8 * (halt_s < 1 ? 1 : halt_s > 4 ? 4 : halt_s)))
    daemon_halt >"$daemons.halt.out" 2>&1
    # The keeper ends when each host has removed its folder.
    timeout "$((halt_s / 2))" tail -s 0.02 --pid="$keeper" -f /dev/null
    kill -TERM "$keeper" 2>/dev/null && wait "$keeper" 2>/dev/null
    stamp halt_end
}
