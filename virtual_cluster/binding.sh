# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced: binds folders of the machine for hosts.

# Options of a mount that this user namespace cannot take off.
kept() {
    for option in $(echo "$1" | tr , ' '); do
        case $option in nosuid | nodev | noexec | noatime | nodiratime | relatime) echo "$option" ;; esac
    done | tr '\n' ,
}

# Bind a folder and all that is mounted in it, read-only.
bind_read_only() {
    mount --rbind "$1" "$2"
    here=$(realpath "$2") mounts=$(cat /proc/self/mountinfo)
    echo "$mounts" | while read -r _ _ _ _ at options _; do
        at=$(printf %b "$at")
        case $at in "$here" | "$here"/*) mount -o "remount,bind,$(kept "$options")ro" "$at" ;; esac
    done
}
