# SPDX-License-Identifier: Apache-2.0
"""How a process that runs foreign Python is kept apart, by calls of Linux alone.

Where the kernel allows it, as root or by user namespaces, the process is the first of a process
namespace, sees no network, and finds every file system read-only but for a small one of its own.
Elsewhere limits hold: no socket, no file that grows, and no write that Python sees. In both cases
it runs without privileges, within a limit of memory and processes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import pwd
import resource
import signal
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

#: Bytes that a process may use more than at the start, and its own folder, which is memory too.
MEMORY_BYTES, FOLDER_BYTES = 2 << 30, 64 << 20
#: Processes and threads that its user may have more than at the start.
MORE_PROCESSES = 256
#: Folders with sockets of services that act for a user, hidden from the process.
_SERVICES = ("/run/user", "/run/dbus")

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38
_MOUNT_SETATTR = 442
#: Machine → audit architecture, number of socket, of io_uring_setup, first number of another ABI.
_MACHINES = {
    "x86_64": (0xC000003E, 41, 425, 0x40000000),
    "aarch64": (0xC00000B7, 198, 425, 0xFFFFFFFF),
}
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> int:
    """A function of libc; raises OSError where it fails."""
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def end_with_parent() -> None:
    """Let this process be killed when the thread that started it ends."""
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def enter() -> bool:
    """Go on as the first process of a process namespace, in which this process may make others;
    False where the kernel refuses. The process that called waits for it and ends as it does."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        if uid != 0:
            _call("unshare", _NEWUSER)
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{uid} {uid} 1"),
                ("gid_map", f"{gid} {gid} 1"),
            ):
                Path(f"/proc/self/{name}").write_text(text)
        _call("unshare", _NEWPID | _NEWNS)
        first = os.fork()
    except OSError:
        return False
    if first:
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    end_with_parent()
    return True


def adopt_orphans() -> None:
    """Let this process become the parent of descendants whose parent ends."""
    _call("prctl", _PR_SET_SUBREAPER, 1, 0, 0, 0)


def fork_first() -> int:
    """`os.fork` with the child as the first process of a process namespace: all that it ever
    starts ends with it."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", _NEWPID)
        if (pid := os.fork()) == 0:
            return 0
        _call("setns", own, _NEWPID)
        return pid
    finally:
        os.close(own)


def can_hide_system(folder: str) -> bool:
    """Whether the kernel lets a child of this process do `hide_system`."""
    try:
        pid = fork_first()
    except OSError:
        return False
    if pid == 0:
        try:
            hide_system(folder, network=False)
        finally:  # an error is the answer, too
            os._exit(0 if os.statvfs("/").f_flag & os.ST_RDONLY else 1)
    return os.waitpid(pid, 0)[1] == 0


def hide_system(folder: str, *, network: bool) -> None:
    """Make all file systems read-only for this process but a fresh one at `folder`, and leave it
    no network unless it is asked for. Raises OSError where the kernel refuses."""
    _call("unshare", _NEWNS | _NEWIPC | (0 if network else _NEWNET))
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    with suppress(OSError):  # in containers that hide parts of it
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    for service in filter(os.path.isdir, _SERVICES):
        _mount("tmpfs", service, "tmpfs", _MS_NOSUID, "size=4k")
    read_only = struct.pack("4Q", 1, 0, 0, 0)
    _call("syscall", _MOUNT_SETATTR, -100, b"/", 0x8000, read_only, len(read_only))
    options = f"size={FOLDER_BYTES},mode=1777"
    _mount("tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, options)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    _call("mount", *words, ctypes.c_ulong(flags), options.encode())


def no_growing_files() -> None:
    """Let every write to a file fail; pipes are none."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def drop(user: Sequence[int] | None, processes: int, *, network: bool) -> None:
    """Give up all privileges for good, become `user` (uid, gid), who has so many processes and
    threads already, and get limits."""
    with suppress(OSError):  # the first to go where memory runs out
        Path("/proc/self/oom_score_adj").write_text("1000")
    if user is not None:
        uid, gid = user
        try:
            os.initgroups(pwd.getpwuid(uid).pw_name, gid)
        except KeyError:
            os.setgroups([gid])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    _call("capset", struct.pack("Ii", 0x20080522, 0), bytes(24))
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY_BYTES)
    _lower(resource.RLIMIT_NPROC, processes + MORE_PROCESSES)
    if not network:
        _refuse_sockets()


def _lower(which: int, most: int) -> None:
    _, hard = resource.getrlimit(which)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (least, least))


def processes_of(uid: int) -> int:
    """Processes and threads of a user that this process sees; the kernel counts those of all
    namespaces."""
    found = 0
    for process in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208  names are all
        with suppress(OSError):
            if Path(f"/proc/{process}").stat().st_uid == uid:
                found += Path(f"/proc/{process}/task").stat().st_nlink - 2
    return found


def _refuse_sockets() -> None:
    """Let socket(2) fail with EACCES, of every family: sockets of services in the file system
    are no network, and act for the user. Nothing on machines that _MACHINES lacks."""
    if platform.machine() not in _MACHINES:
        return
    architecture, socket, io_uring, other = _MACHINES[platform.machine()]
    refuse, allow = 0x50000 | errno.EACCES, 0x7FFF0000
    code = [
        (0x20, 0, 0, 4),  # load the architecture
        (0x15, 0, 4, architecture),
        (0x20, 0, 0, 0),  # load the number of the call
        (0x35, 2, 0, other),
        (0x15, 1, 0, socket),
        (0x15, 0, 1, io_uring),
        (0x06, 0, 0, refuse),
        (0x06, 0, 0, allow),
    ]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    program = struct.pack("HP", len(code), ctypes.addressof(text))
    _call("prctl", _PR_SET_SECCOMP, 2, program, 0, 0)
