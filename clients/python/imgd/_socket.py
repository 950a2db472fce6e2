"""The daemon's socket: where it is, connecting to it, reading from it."""

from __future__ import annotations

import array
import errno
import grp
import os
import socket
import stat
import struct
from typing import List, Mapping, Optional, Tuple, Union

from .errors import ConnectionFailed

Place = Union[str, "os.PathLike[str]"]

MACHINE_SOCKET = "/run/imgd/imgd.sock"

#: As much as one read takes.
_CHUNK = 256 * 1024
#: The daemon sends one descriptor at a time. More are received only in order to be closed.
_DESCRIPTORS = 16


def find_socket(named: Optional[Place], environment: Mapping[str, str] = os.environ) -> str:
    """The socket that was named, that of the environment, the user's own, or the machine's."""
    if named is not None:
        return os.fspath(named)
    variable = environment.get("IMGD_SOCKET")
    if variable:
        return variable
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if not runtime.startswith("/"):
        runtime = f"/run/user/{os.geteuid()}"
    own = f"{runtime}/imgd/imgd.sock"
    return own if os.path.exists(own) else MACHINE_SOCKET


def connect(path: str, timeout: float) -> socket.socket:
    """A connected socket that does not block; the kernel may need time if many connect at once."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # A socket with a timeout of Python's does not wait for its turn, but fails.
        seconds, part = divmod(max(timeout, 0.001), 1)
        wait = struct.pack("@ll", int(seconds), int(part * 1_000_000))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, wait)
        connection.connect(path)
        connection.setblocking(False)
    except OSError as error:
        connection.close()
        raise connection_failed(path, error) from None
    except BaseException:
        connection.close()
        raise
    return connection


def connection_failed(path: str, error: OSError) -> ConnectionFailed:
    """The error of a connection that did not come about, with what to do about it."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        reason = "there is no such socket. Is imgd running, and does it listen there?"
    elif error.errno == errno.ECONNREFUSED:
        reason = "no program listens there. Start imgd: systemctl start imgd"
    elif error.errno in (errno.EACCES, errno.EPERM):
        reason = f"permission denied. {_remedy(path)}"
    elif error.errno == errno.EAGAIN:
        reason = "the daemon accepts no connection. Too many are waiting, or it hangs"
    else:
        # "AF_UNIX path too long" comes without a number.
        reason = error.strerror or str(error)
    return ConnectionFailed(f"cannot connect to imgd at {path}: {reason}")


def _remedy(path: str) -> str:
    try:
        facts = os.stat(path)
        group = grp.getgrgid(facts.st_gid).gr_name
    except (OSError, KeyError):
        return "Only the socket's owner and group may use it"
    if not facts.st_mode & stat.S_IWGRP:
        return "Only the socket's owner may use it"
    return f"Join its group with: sudo adduser $USER {group} (then log in again)"


def receive(connection: socket.socket) -> Tuple[bytes, List[int], bool]:
    """What has arrived: bytes, descriptors, and whether there were more than could be taken.

    A descriptor for which this process has no number left is -1. No bytes mean the end. Raises
    BlockingIOError if nothing has arrived.
    """
    numbers = array.array("i")
    room = socket.CMSG_SPACE(_DESCRIPTORS * numbers.itemsize)
    try:
        data, ancillary, flags, _ = connection.recvmsg(_CHUNK, room, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        # The end, too: of a daemon that had not read all that was sent to it.
        return b"", [], False
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
    descriptors, cut = numbers.tolist(), bool(flags & socket.MSG_CTRUNC)
    if cut and len(descriptors) < _DESCRIPTORS:
        # There was room for it in the message: the kernel could not open it.
        return data, [*descriptors, -1], False
    return data, descriptors, cut
