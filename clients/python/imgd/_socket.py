"""The daemon's socket: where it is, connecting to it, reading from it."""

from __future__ import annotations

import array
import errno
import grp
import os
import socket
import stat
import struct
from collections import deque
from typing import Deque, Mapping, Optional, Protocol, Sequence, Tuple, Union

from .errors import ConnectionFailed

Place = Union[str, "os.PathLike[str]"]

MACHINE_SOCKET = "/run/imgd/imgd.sock"

#: As much as one read takes, into a buffer that a connection keeps.
CHUNK = 64 * 1024
#: The daemon sends one descriptor at a time. More are received only in order to be closed.
_DESCRIPTORS = 16
# As plain numbers: Python's own are enumerations, whose operators take longer than a system call.
AT_ONCE = int(socket.MSG_DONTWAIT)
TO_SEND = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
_CLOSE_ON_EXEC = int(socket.MSG_CMSG_CLOEXEC)
_CUT = int(socket.MSG_CTRUNC)
_ROOM = socket.CMSG_SPACE(_DESCRIPTORS * array.array("i").itemsize)


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
    """A connected socket; the kernel may need time if many connect at once."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # A socket with a timeout of Python's does not wait for its turn, but fails.
        wait = _timeval(max(timeout, 0.001))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, wait)
        connection.connect(path)
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


def _timeval(seconds: float) -> bytes:
    whole, part = divmod(seconds, 1)
    return struct.pack("@ll", int(whole), int(part * 1_000_000))


def bound_receiving(connection: socket.socket, seconds: float) -> None:
    """Makes a read return without anything after this time, without a call for each read."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(seconds))


class _Descriptor(Protocol):
    def fileno(self) -> int: ...


class Outbox:
    """Lines that wait to be written, and the files that go with some of them.

    A message ends with the line that its file belongs to: so the daemon knows which one that is.
    """

    __slots__ = ("unsent", "_files", "_gone")

    def __init__(self) -> None:
        self.unsent = bytearray()
        #: Where the line of each file begins and ends, counted from when there were none.
        self._files: Deque[Tuple[int, int, _Descriptor]] = deque()
        self._gone = 0

    def attach(self, file: _Descriptor, size: int) -> None:
        """Has a file go with the bytes that are added next."""
        if not self._files:
            self._gone = 0
        start = self._gone + len(self.unsent)
        self._files.append((start, start + size, file))

    def clear(self) -> None:
        """Drops all that waits."""
        self.unsent.clear()
        self._files.clear()

    def write(self, connection: socket.socket) -> None:
        """Writes all; raises BlockingIOError when there is no more room."""
        unsent = self.unsent
        while unsent:
            if self._files:
                count = self._write_to_file(connection)
            else:
                count = connection.send(unsent, TO_SEND)
            del unsent[:count]

    def _write_to_file(self, connection: socket.socket) -> int:
        """Writes what comes before the next file, or the file with its line."""
        start, end, file = self._files[0]
        if start > self._gone:
            count = connection.send(bytes(self.unsent[: start - self._gone]), TO_SEND)
        else:
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno()]))
            line = bytes(self.unsent[: end - self._gone])
            count = connection.sendmsg([line], [rights], TO_SEND)
            self._files.popleft()
        self._gone += count
        return count


def receive(
    connection: socket.socket, buffer: bytearray, flags: int
) -> Tuple[int, Sequence[int], bool]:
    """How many bytes have arrived in the buffer, descriptors, and whether more came than were taken.

    A descriptor for which this process has no number left is -1. No bytes mean the end. Raises
    BlockingIOError if nothing has arrived.
    """
    try:
        count, ancillary, flags, _ = connection.recvmsg_into(
            (buffer,), _ROOM, flags | _CLOSE_ON_EXEC
        )
    except ConnectionResetError as error:
        if error.errno is None:
            # The handler of a signal has raised it, not the kernel.
            raise
        # The end, too: of a daemon that had not read all that was sent to it.
        return 0, (), False
    if not ancillary and not flags & _CUT:
        return count, (), False
    numbers = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
    descriptors, cut = numbers.tolist(), bool(flags & _CUT)
    if cut and len(descriptors) < _DESCRIPTORS:
        # There was room for it in the message: the kernel could not open it.
        return count, [*descriptors, -1], False
    return count, descriptors, cut
