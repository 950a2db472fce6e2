"""A connection that several threads share.

It has no thread of its own: one of those that wait reads for all of them. A thread that finds nobody
reading reads itself. One that finds another reading has a bell, and sleeps until it rings: because
there is news of its calls, or because the one that reads has what it wanted and leaves. So a program
with one thread stays one, and can fork, and its way to an answer is one call to send and one to
receive.

A thread that leaves rings for another if nobody reads, also when an error makes it leave. So whenever
the lock is free, somebody reads, or nobody waits, or a bell has rung whose thread is on its way.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
import weakref
from typing import Any, Callable, Dict, Optional, Sequence, Union

from . import _socket
from ._conversation import Call, Conversation
from ._requests import Asked
from .errors import ConnectionFailed, ConnectionLost

#: So long, in seconds, a thread waits in the call that receives, where it hears nothing but the end
#: of the connection. Hits come within that time. After it the thread waits with `poll`: two calls
#: more for an answer, but it hears of what others have to write.
PATIENCE = 0.02


class _Bell:
    """Wakes a thread that waits while another reads; all but waiting needs the connection's lock."""

    __slots__ = ("_silence",)

    def __init__(self) -> None:
        self._silence = threading.Lock()
        self._silence.acquire()

    def ring(self) -> None:
        """Ends the wait that is under way, or the next one."""
        if self._silence.locked():
            self._silence.release()

    def wait(self, timeout: Optional[float]) -> None:
        longest = threading.TIMEOUT_MAX
        self._silence.acquire(timeout=-1 if timeout is None else min(timeout, longest))


class Connection:
    """A socket to the daemon, and the requests under way on it."""

    def __init__(self, path: str, timeout: float) -> None:
        self._socket = _socket.connect(path, timeout)
        try:
            _socket.bound_receiving(self._socket, PATIENCE)
            # By this the thread that polls is told that another has something to write.
            self._alarm, self._ringer = socket.socketpair()
        except BaseException:
            self._socket.close()
            raise
        self._alarm.setblocking(False)
        self._ringer.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._alarm, select.POLLIN)
        self._poll.register(self._socket, select.POLLIN)
        self._buffer = bytearray(_socket.CHUNK)
        self._lock = threading.Lock()
        self._reading = False
        #: Whether nothing has come for a while.
        self._quiet = False
        #: Of those that wait while another reads, in the order in which they came.
        self._bells: Dict[_Bell, None] = {}
        self._conversation = Conversation(path)
        _of_this_process.add(self)

    @property
    def is_over(self) -> bool:
        """Whether no request can be sent any more."""
        return self._conversation.failure is not None

    def begin(self, request: Asked) -> Call:
        """Sends a request, or as much of it as there is room for; `wait` sends the rest."""
        with self._lock:
            call = self._conversation.begin(request)
            self._flush()
            return call

    def abandon(self, call: Call) -> None:
        """Gives up a call, and cancels its fetch."""
        with self._lock:
            self._conversation.abandon(call)
            self._flush()

    def wait(self, call: Call, deadline: Optional[float]) -> None:
        """Returns when the call has news, or at the deadline."""
        self._wait(lambda: call.has_news, deadline, (call,))

    def wait_for_any(self, calls: Sequence[Call], deadline: Optional[float]) -> None:
        """Returns when one of the calls has news, or at the deadline."""
        self._wait(lambda: any(call.has_news for call in calls), deadline, calls)

    def next_event(self) -> Dict[str, Any]:
        """The next event that belongs to no request."""
        conversation = self._conversation
        self._wait(lambda: bool(conversation.events or conversation.failure), None)
        with self._lock:
            if conversation.events:
                return conversation.events.popleft()
        assert conversation.failure is not None
        raise conversation.failure

    def close(self, reason: str = "the client was closed") -> None:
        """Ends it; the daemon cancels the fetches that wait for an answer."""
        with self._lock:
            self._end(ConnectionFailed(reason))

    def forget(self) -> None:
        """Leaves it to the process that this one was forked from."""
        # Another thread of that process may have held the lock.
        self._lock = threading.Lock()
        self._reading = False
        self._bells = {}
        self._conversation.fail(ConnectionLost("the connection belongs to the parent process"))
        self._close_sockets()

    def __del__(self) -> None:
        # There is nothing to close if it has never come about.
        if hasattr(self, "_conversation"):
            self._close_sockets()

    # --- Waiting ---

    def _wait(
        self, ready: Callable[[], bool], deadline: Optional[float], calls: Sequence[Call] = ()
    ) -> None:
        # After a fork in a signal's handler there may be another one.
        lock = self._lock
        with lock:
            try:
                while not ready():
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        return
                    if self._reading:
                        self._sleep(lock, left, calls)
                    else:
                        self._exchange(lock, left)
            finally:
                self._ring_next()

    def _sleep(self, lock: threading.Lock, timeout: Optional[float], calls: Sequence[Call]) -> None:
        """Waits, with the lock released, until there is something to do."""
        bell = _Bell()
        for call in calls:
            call.on_news = bell.ring
        self._bells[bell] = None
        try:
            lock.release()
            bell.wait(timeout)
        finally:
            try:
                lock.acquire()
            finally:
                # Also when a signal's handler raises here: a bell that nobody hears must not be the
                # next to be rung.
                self._bells.pop(bell, None)
                for call in calls:
                    call.on_news = None

    def _exchange(self, lock: threading.Lock, timeout: Optional[float]) -> None:
        """Reads what comes next, with the lock released, and writes what is left to be written."""
        self._reading = True
        try:
            if (
                self._quiet
                or self._conversation.outbox.unsent
                or (timeout is not None and timeout < PATIENCE)
            ):
                self._poll_sockets(lock, timeout)
                self._write()
                flags = _socket.AT_ONCE
            else:
                flags = 0
            if not self.is_over:
                self._receive(lock, flags)
        finally:
            self._reading = False
            if self.is_over:
                self._close_sockets()

    def _poll_sockets(self, lock: threading.Lock, timeout: Optional[float]) -> None:
        """Waits until there is something to read, or room for what is left to be written."""
        unsent = bool(self._conversation.outbox.unsent)
        self._poll.modify(self._socket, select.POLLIN | (select.POLLOUT if unsent else 0))
        try:
            lock.release()
            ready = self._poll.poll(None if timeout is None else max(1, int(timeout * 1000)))
        finally:
            lock.acquire()
        if self._alarm.fileno() in dict(ready):
            try:
                while self._alarm.recv(64):
                    pass
            except BlockingIOError:
                pass

    def _receive(self, lock: threading.Lock, flags: int) -> None:
        buffer, conversation = self._buffer, self._conversation
        # No line has such a byte: so it is known afterwards whether anything came.
        buffer[0] = 0
        try:
            try:
                lock.release()
                count, descriptors, cut = _socket.receive(self._socket, buffer, flags)
            finally:
                lock.acquire()
            self._quiet = False
            conversation.receive(buffer[:count], descriptors, cut)
        except BaseException as error:
            number = error.errno if isinstance(error, OSError) else None
            if number is None:
                # The handler of a signal has raised it.
                if buffer[0]:
                    # Between the kernel and the conversation: nobody knows what is missing.
                    conversation.fail(ConnectionLost("the connection to imgd was interrupted"))
                raise
            if number == errno.EAGAIN:
                self._quiet = True
            else:
                conversation.fail(ConnectionLost(f"the connection to imgd broke: {error}"))
        if conversation.events or conversation.failure is not None:
            for bell in self._bells:
                bell.ring()

    # --- With the lock held ---

    def _ring_next(self) -> None:
        """Lets another read, if somebody waits and nobody reads."""
        if self._bells and not self._reading:
            next(iter(self._bells)).ring()

    def _end(self, reason: ConnectionFailed) -> None:
        self._conversation.fail(reason)
        # The thread that reads closes what it uses, or another file might get its number meanwhile.
        if self._reading:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The daemon was faster.
                pass
        else:
            self._close_sockets()
        for bell in self._bells:
            bell.ring()

    def _flush(self) -> None:
        self._write()
        if self._conversation.outbox.unsent and self._reading:
            try:
                self._ringer.send(b"!")
            except OSError:
                # It is full of rings already, or closed.
                pass

    def _write(self) -> None:
        """Writes what there is room for."""
        outbox = self._conversation.outbox
        try:
            outbox.write(self._socket)
        except BaseException as error:
            number = error.errno if isinstance(error, OSError) else None
            if number is None:
                # The handler of a signal has raised it: nobody knows how much was written.
                self._end(ConnectionLost("the connection to imgd was interrupted"))
                raise
            if number != errno.EAGAIN:
                # A daemon that hangs up may have said why: that is still to be read.
                outbox.clear()

    def _close_sockets(self) -> None:
        self._socket.close()
        self._alarm.close()
        self._ringer.close()


_of_this_process: "weakref.WeakSet[Connection]" = weakref.WeakSet()


def _leave_connections() -> None:
    for connection in list(_of_this_process):
        connection.forget()
    _of_this_process.clear()


# Two processes on one connection would read each other's answers.
os.register_at_fork(after_in_child=_leave_connections)
