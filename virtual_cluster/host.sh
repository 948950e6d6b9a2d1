# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# host.sh NAME VIEW OWN WRITABLE READ COMMAND …: becomes process 1 of a host, or a daemon (namespaces.py).
# OWN are folders in which it has an empty file system; WRITABLE are folders of the machine that it alone
# may write to, each followed by its path; READ what it shows in folders of its own; the last word of a
# list is --.
. "${0%/*}/gate.sh"
name=$1 view=$2 own=$3
shift 3
cd "$view"
while [ "$1" != -- ]; do
    mount --bind "$1" ".$2"
    shift 2
done
shift
for folder in $own; do mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs ".$folder"; done
mount -t proc proc proc
# In one system call: util-linux 2.39 and later else make it read-only afterwards, which the kernel refuses
# where the caller's own is, in a container.
LIBMOUNT_FORCE_MOUNT2=always mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
# Programs look there for what their control groups withhold.
[ ! -d run/cgroup ] || mount --rbind run/cgroup sys/fs/cgroup
mount -o remount,bind,ro sys
# Where root has called, files of root in /proc could be written to.
read -r _ caller _ </proc/self/uid_map
if [ "$caller" = 0 ]; then
    mount --bind proc/sys proc/sys
    mount -o remount,bind,ro proc/sys
    [ ! -e proc/sysrq-trigger ] || mount --bind /dev/null proc/sysrq-trigger
fi
pivot_root . mnt
cd /
umount -l /mnt
hostname "$name"
mount -o remount,bind,ro /dev
mount -o remount,bind,ro /
while [ "$1" != -- ]; do
    mkdir -p "$2"
    mount --rbind "/run/shown/$1" "$2"
    shift 2
done
shift
ready
exec "$@"
