#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# facts.sh FOLDER: writes what this node says of itself to FOLDER/nodes.JOB/NODE, in sections: a line
# "== NAME", then what the system prints. Says on stdout when FOLDER cannot be written here. FOLDER -:
# writes to stdout.
LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH
node=${SLURMD_NODENAME:-${ASSAY_NODES:-$(hostname)}}
file=$1/nodes.${SLURM_JOB_ID:-$ASSAY_LAUNCH_ID}/$node part=$file.part
[ "$1" != - ] || part=/dev/stdout
if ! : 2>/dev/null >"$part"; then
    echo "not shared: $node cannot write $1"
    exit 1
fi
section() { printf '\n== %s\n' "$1"; }
of() { # NAME FILE: a setting, where it can be read
    [ -r "$2" ] && printf '%s=%s\n' "$1" "$(cat "$2" 2>/dev/null)"
}
driver_of() { basename "$(readlink -f "$1/device/driver" 2>/dev/null)" 2>/dev/null; }
{
    section token
    cat "$1/token" 2>/dev/null
    section lscpu
    lscpu
    section cpuinfo
    grep -m 1 microcode /proc/cpuinfo
    section dmi
    for name in sys_vendor product_name bios_vendor bios_version bios_date; do
        of "$name" "/sys/class/dmi/id/$name"
    done
    section kernel
    uname -sr
    section os
    # shellcheck disable=SC1091
    (. /etc/os-release && echo "$PRETTY_NAME") 2>/dev/null
    section governor
    cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor 2>/dev/null | sort -u
    section settings
    of smt /sys/devices/system/cpu/smt/control
    of no_turbo /sys/devices/system/cpu/intel_pstate/no_turbo
    of boost /sys/devices/system/cpu/cpufreq/boost
    of transparent_hugepage /sys/kernel/mm/transparent_hugepage/enabled
    of numa_balancing /proc/sys/kernel/numa_balancing
    of tcp_rmem /proc/sys/net/ipv4/tcp_rmem
    of tcp_wmem /proc/sys/net/ipv4/tcp_wmem
    of tcp_congestion_control /proc/sys/net/ipv4/tcp_congestion_control
    for controller in /sys/devices/system/edac/mc/mc*; do
        of "uncorrected_errors_${controller##*/}" "$controller/ue_count"
    done
    # shellcheck disable=SC3045  # in dash and bash
    printf 'memlock=%s\n' "$(ulimit -l 2>/dev/null)"
    section memory
    grep -E '^MemTotal' /proc/meminfo
    section nics
    for folder in /sys/class/net/*; do
        name=${folder##*/}
        [ "$name" = lo ] || [ ! -e "$folder" ] && continue
        echo "nic=ethernet $name"
        of state "$folder/operstate"
        of type "$folder/type"
        of megabits "$folder/speed"
        of mtu "$folder/mtu"
        echo "driver=$(driver_of "$folder")"
        of driver_version "$folder/device/driver/module/version"
        echo "firmware=$(ethtool -i "$name" 2>/dev/null | sed -n 's/^firmware-version: //p')"
        [ -z "$(driver_of "$folder")" ] && ethtool -i "$name" 2>/dev/null | sed -n 's/^driver: /driver=/p'
        grep -q "^ *$name:" /proc/self/net/dev && echo "counters=yes"
    done
    for port in /sys/class/infiniband/*/ports/*; do
        [ -e "$port" ] || continue
        device=${port%/ports/*}
        echo "nic=infiniband ${device##*/}/${port##*/}"
        of state "$port/state"
        of rate "$port/rate"
        of layer "$port/link_layer"
        echo "driver=$(driver_of "$device")"
        of driver_version "$device/device/driver/module/version"
        of firmware "$device/fw_ver"
        grep -qs '^[0-9]' "$port"/counters/port_rcv_data "$port"/hw_counters/RxWords \
            "$port"/hw_counters/rx_bytes && echo "counters=yes"
    done
    for folder in /sys/class/cxi/*; do
        [ -e "$folder" ] || continue
        echo "nic=cxi ${folder##*/}"
        of speed "$folder/device/properties/speed"
        of state "$folder/device/port/link"
        echo "driver=$(driver_of "$folder")"
        of firmware "$folder/device/uc/fw_version"
        grep -qs '^[0-9]' "$folder/device/telemetry/hni_sts_rx_ok_octets" && echo "counters=yes"
    done
    section gpus
    timeout 10 nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
    for card in /sys/class/drm/card*/device/product_name; do
        [ -r "$card" ] && cat "$card"
    done
    section mounts
    cat /proc/self/mounts
} >"$part" 2>/dev/null
[ "$1" = - ] || mv -f "$part" "$file"
