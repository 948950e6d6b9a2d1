#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what tests need and is missing: Debian packages and HPL's source, by `make packages`. Needs
# Debian and, when a package is missing, root. A site and a virtual cluster need none of it.
# Arguments: files with a package a line (packages-tests.txt); one with "?" is left out where the release has
# none.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- setup/packages-tests.txt

dpkg-query --version >/dev/null 2>&1 || {
    echo "setup: tests need packages of Debian 12 or 13, and this machine has no dpkg. For \`make demo\`," \
        "\`make test\` and a Slurm site \`make setup\` is enough" >&2
    exit 4
}
mapfile -t absent < <(sed 's/#.*//' "$@" | while read -r package _; do
    [ -z "$package" ] && continue
    dpkg-query -W -f='${Status}' "${package%\?}" 2>/dev/null | grep -q '^install ok installed$' ||
        echo "$package"
done)
if [ "$(id -u)" -eq 0 ] && printf '%s\n' "${absent[@]}" | grep -q '[^?]$'; then apt-get -q update; fi
missing=() left_out=()
for package in "${absent[@]}"; do
    name=${package%\?}
    if [ "$name" = "$package" ] || [ -n "$(apt-cache madison "$name")" ]; then
        missing+=("$name")
    else
        left_out+=("$name")
    fi
done
[ ${#left_out[@]} -eq 0 ] ||
    echo "setup: left out, as this release of Debian has none: ${left_out[*]}"
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "setup: tests need packages, which only root can install:" \
            "sudo apt-get install ${missing[*]}. For \`make demo\` and a Slurm site \`make setup\` is enough" >&2
        exit 4
    fi
    echo "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # Services of these packages are not wanted: the harness starts its own.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
fi
setup/hpl-source.sh
