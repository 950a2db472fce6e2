"""A connection that several threads share.

It has no thread of its own: the one that waits first reads for all the others, and hands on when its own
answer is there. So a program with one thread stays one, and can fork.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
import weakref
from typing import Any, Callable, Dict, Optional, Sequence

from . import _socket
from ._conversation import Call, Conversation
from .errors import ConnectionFailed, ConnectionLost


class Connection:
    """A socket to the daemon, and the requests under way on it."""

    def __init__(self, path: str, timeout: float) -> None:
        self._socket = _socket.connect(path, timeout)
        try:
            # By this the thread that reads is told that another has something to write.
            self._bell, self._ringer = socket.socketpair()
        except BaseException:
            self._socket.close()
            raise
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)
        self._poll.register(self._socket, select.POLLIN)
        self._changed = threading.Condition(threading.Lock())
        self._reading = False
        self._conversation = Conversation(path)
        _of_this_process.add(self)

    @property
    def is_over(self) -> bool:
        """Whether no request can be sent any more."""
        return self._conversation.failure is not None

    def begin(self, request: Dict[str, Any]) -> Call:
        """Sends a request, or as much of it as there is room for; `wait` sends the rest."""
        with self._changed:
            call = self._conversation.begin(request)
            self._flush()
            return call

    def abandon(self, call: Call) -> None:
        """Gives up a call, and cancels its fetch."""
        with self._changed:
            self._conversation.abandon(call)
            self._flush()

    def wait(self, calls: Sequence[Call], deadline: Optional[float]) -> None:
        """Returns when one of the calls has news, or at the deadline."""
        self._wait(lambda: any(call.has_news for call in calls), deadline)

    def next_event(self) -> Dict[str, Any]:
        """The next event that belongs to no request."""
        self._wait(lambda: bool(self._conversation.events or self._conversation.failure), None)
        with self._changed:
            if self._conversation.events:
                return self._conversation.events.popleft()
        assert self._conversation.failure is not None
        raise self._conversation.failure

    def close(self, reason: str = "the client was closed") -> None:
        """Ends it; the daemon cancels the fetches that wait for an answer."""
        with self._changed:
            self._end(ConnectionFailed(reason))

    def forget(self) -> None:
        """Leaves it to the process that this one was forked from."""
        # Another thread of that process may have held the lock.
        self._changed = threading.Condition(threading.Lock())
        self._reading = False
        self._conversation.fail(ConnectionLost("the connection belongs to the parent process"))
        self._close_sockets()

    def __del__(self) -> None:
        # There is nothing to close if it has never come about.
        if hasattr(self, "_conversation"):
            self._close_sockets()

    # --- With the lock held ---

    def _end(self, reason: ConnectionFailed) -> None:
        self._conversation.fail(reason)
        # The thread that reads closes what it uses, or another file might get its number meanwhile.
        if self._reading:
            self._ring()
        else:
            self._close_sockets()
        self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool], deadline: Optional[float]) -> None:
        with self._changed:
            while not ready():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return
                if self._reading:
                    self._changed.wait(left)
                else:
                    self._exchange(left)

    def _exchange(self, timeout: Optional[float]) -> None:
        """Waits for the socket, with the lock released, and writes and reads what is possible."""
        self._reading = True
        try:
            unsent = bool(self._conversation.unsent)
            self._poll.modify(self._socket, select.POLLIN | (select.POLLOUT if unsent else 0))
            changed = self._changed
            changed.release()
            try:
                self._poll.poll(None if timeout is None else max(1, int(timeout * 1000)))
            finally:
                changed.acquire()
            # After a fork in a signal's handler there may be another one.
            if changed is self._changed and not self.is_over:
                self._transfer()
        finally:
            self._reading = False
            if self.is_over:
                self._close_sockets()
            self._changed.notify_all()

    def _transfer(self) -> None:
        try:
            try:
                while self._bell.recv(64):
                    pass
            except BlockingIOError:
                pass
            self._write()
            data, descriptors, cut = _socket.receive(self._socket)
            self._conversation.receive(data, descriptors, cut)
        except BlockingIOError:
            pass
        except OSError as error:
            self._conversation.fail(ConnectionLost(f"the connection to imgd broke: {error}"))
        except BaseException:
            # Interrupted between the kernel and the conversation: nobody knows what is missing.
            self._conversation.fail(ConnectionLost("the connection to imgd was interrupted"))
            raise

    def _flush(self) -> None:
        if self.is_over:
            return
        try:
            self._write()
        except BaseException:
            self._end(ConnectionLost("the connection to imgd was interrupted"))
            raise
        if self._conversation.unsent and self._reading:
            self._ring()

    def _write(self) -> None:
        unsent = self._conversation.unsent
        try:
            while unsent:
                del unsent[: self._socket.send(unsent, socket.MSG_NOSIGNAL)]
        except BlockingIOError:
            pass
        except OSError:
            # A daemon that hangs up may have said why: that is still to be read.
            unsent.clear()

    def _ring(self) -> None:
        try:
            self._ringer.send(b"!")
        except OSError:
            # It is full of rings already, or closed.
            pass

    def _close_sockets(self) -> None:
        self._socket.close()
        self._bell.close()
        self._ringer.close()


_of_this_process: "weakref.WeakSet[Connection]" = weakref.WeakSet()


def _leave_connections() -> None:
    for connection in list(_of_this_process):
        connection.forget()
    _of_this_process.clear()


# Two processes on one connection would read each other's answers.
os.register_at_fork(after_in_child=_leave_connections)
