# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# holder.sh VIEW ROOT LOGIN [IMAGE]: process 1 of a cluster (namespaces.py). VIEW is the folder where the root
# of hosts is made, ROOT the cluster's, LOGIN the name of the login host, IMAGE the root whose programs
# hosts have, without it the machine's.
. "${0%/*}/gate.sh"
. "${0%/*}/binding.sh"
view=$1 root=$2 login=$3 image=${4-}

# What hosts see of the machine, or the image: its programs, and of /etc what anybody may read.
bind_programs() {
    for name in bin sbin lib lib32 lib64 libx32; do
        if [ -L "$image/$name" ]; then
            cp -P "$image/$name" .
        elif [ -d "$image/$name" ]; then
            mkdir "$name"
            bind_read_only "$image/$name" "$name"
        fi
    done
    # Of /opt of this machine an image's hosts see what they are shown.
    [ -n "$image" ] || opt=opt
    for name in usr $opt var/lib/dpkg; do
        [ -d "$image/$name" ] || continue
        mkdir -p "$name"
        bind_read_only "$image/$name" "$name"
    done
    if mountpoint -q /sys/fs/cgroup; then
        mkdir run/cgroup
        bind_read_only /sys/fs/cgroup run/cgroup
    fi
    mkdir etc
    (cd "$image/etc" && find . ! -perm -o=r -prune -o ! -type s -print0) |
        tar -C "$image/etc" -cf - --null --no-recursion -T - | tar -C etc -xf - --no-same-owner
    for name in hosts passwd group nsswitch.conf; do
        rm -f "etc/$name"
        cp "$root/etc/$name" etc/
    done
}

make_devices() {
    mkdir dev
    mount -t tmpfs -o mode=755,size=1m,nosuid tmpfs dev
    mkdir dev/pts dev/shm
    [ ! -w /dev/cpu_dma_latency ] || latency=cpu_dma_latency
    for name in null zero full random urandom tty $latency; do
        : >"dev/$name"
        mount --bind "/dev/$name" "dev/$name"
    done
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    for number in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${number%:*}" "dev/${number#*:}"; done
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs dev/shm
}

# The cluster's own: what its hosts read at /cluster, the folder of jobs and the home at their paths.
bind_cluster() {
    mkdir -p cluster/spool cluster/log cluster/node ".$root/work" ".$root/home"
    for name in etc bin munge; do
        mkdir "cluster/$name"
        bind_read_only "$root/$name" "cluster/$name"
    done
    mount --bind "$root/work" ".$root/work"
    mount --bind "$root/home" ".$root/home"
}

# The user namespace of daemons, sessions and jobs; it lasts as long as its file.
make_user() {
    mount -t proc proc proc
    unshare --user --map-user=1000 --map-group=1000 sleep infinity &
    until grep -q 1000 "proc/$!/uid_map"; do :; done
    : >run/user
    mount --bind "proc/$!/ns/user" run/user
    umount proc
    kill "$!"
}

mount -t tmpfs -o mode=755,size=64m tmpfs "$view"
mount --make-shared "$view"
cd "$view"
mkdir -p proc sys run/shown run/networks mnt root var/log
mkdir -m 1777 tmp var/tmp
# Networks of hosts have their names here.
mount -t tmpfs -o mode=755,size=1m tmpfs run/networks
mount --make-private run/networks
bind_programs
chroot . hostname "$login"
chroot . ip link set lo up
make_devices
bind_cluster
# A cluster of root mounts further what its hosts see and has no user namespace (foreign_cluster).
# shellcheck source=/dev/null
if [ -f "$root/mounts" ]; then . "$root/mounts"; else make_user; fi
cd /
ready
# It stays, because it must reap what has lost its parent.
sleep infinity &
wait "$!"
