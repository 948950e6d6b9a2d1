# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# What the scripts of a probe share; sourced in its folder, whose path is in `here`. Everything is
# printed in sections, "== NAME" before them; what programs print has "| " before each line, so that
# nothing of it is taken for a section.

job=${SLURM_JOB_ID:-$ASSAY_LAUNCH_ID}
section() { printf '\n== %s\n' "$1"; }
quoted() { [ ! -e "$1" ] || sed 's/^/| /' "$1"; }

# The nodes of the job, and the facts of each.
facts_of_nodes() {
    section job
    mkdir -p "nodes.$job"
    if [ -n "${ASSAY_NODES:-}" ]; then # without Slurm (keeper.py)
        echo "nodes=$ASSAY_NODES"
        sh "$here/facts.sh" "$here" </dev/null 2>&1
    else
        echo "nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tr '\n' ' ')"
        srun --mpi=none --overlap --nodes="$SLURM_NNODES" --ntasks="$SLURM_NNODES" \
            --ntasks-per-node=1 sh "$here/facts.sh" "$here" </dev/null 2>&1
    fi
    section token
    cat token
    for file in "nodes.$job"/*; do
        [ ! -e "$file" ] || { section "node/${file##*/}" && sed 's/^== /=== /' "$file"; }
    done
}

# build_placement OUT COMPILER TARGET...: compiles the placement program below OUT in the folder. What a job
# left there that was cut off in the middle is made anew.
build_placement() {
    local out=$1 compiler=$2
    shift 2
    [ ! -x "$out/placement" ] || return 0
    mkdir -p "$out"
    {
        # shellcheck disable=SC2086  # a compiler may have options
        make -B -C src --no-print-directory OUT="$here/$out" CC="$compiler" FOLDERS= "$@" &&
            $compiler -std=c11 -O1 -Isrc -o "$out/placement.part" src/placement/placement.c \
                src/assay/host_name.c src/assay/hosts.c src/assay/texts.c "$out/evidence.o" \
                -lm -ldl &&
            mv "$out/placement.part" "$out/placement"
    } >"$out/build.out" 2>&1
    echo "$?" >"$out/build.status"
}

# begin_trial NUMBER: a trial's shell has begun, the rest of which prepares it; told when it ends.
begin_trial() {
    ours=trial/$1 work=$here/t$1.$job ready=
    exec 3>&1
    trap '{ status=$?; section "$ours/prepare"; echo "ready=$ready status=$status"
        quoted "$work/prepare.out"; } >&3' EXIT
    mkdir -p "$work"
}

# try_build OUT COMPILER TARGET...: it is prepared; its compiler, and what that makes. Ends the shell
# where nothing is made.
try_build() {
    local out=$1 compiler=$2
    ready=yes
    section "$ours/modules"
    echo "loaded=${LOADEDMODULES:-}"
    section "$ours/variables"
    env -0 | tr '\n\0' ' \n' | sed 's/^/| /'
    section "$ours/compiler"
    # shellcheck disable=SC2086  # a compiler may have options
    {
        echo "version=$($compiler --version </dev/null 2>&1 | head -n 1)"
        echo "shows=$({ $compiler -show || $compiler -showme; } </dev/null 2>/dev/null | head -n 1)"
    }
    build_placement "$@"
    section "$ours/build"
    cat "$out/build.status"
    quoted "$out/build.out"
    [ -x "$out/placement" ] || exit 0
    for file in "$out"/placement "$out"/stepkeeper "$out"/lib*.so launch/*; do
        [ ! -e "$file" ] || cp "$file" "$work"/
    done
    cd "$work" || exit 0
}

# attempt INDEX RANKS NODES WORD...: starts ranks by these words; gives their status.
attempt() {
    local index=$1 ranks=$2 nodes=$3 begun ended status
    shift 3
    read -r begun _ </proc/uptime
    "$@" ./placement "$ranks" "$nodes" >"$index.out" 2>"$index.err" </dev/null
    status=$?
    section "$ours/attempt/$index"
    read -r ended _ </proc/uptime
    echo "status=$status begun=$begun ended=$ended"
    section "$ours/out/$index"
    quoted "$index.out"
    section "$ours/err/$index"
    quoted "$index.err"
    return "$status"
}
