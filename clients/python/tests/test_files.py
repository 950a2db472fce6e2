"""Pictures that the program has: how they go to the daemon, and what becomes of them."""

from __future__ import annotations

import array
import asyncio
import io
import json
import os
import socket
import tempfile
import unittest
from pathlib import Path
from typing import Any, List, Tuple

import imgd
import imgd.aio
from imgd import _requests
from imgd._conversation import Conversation
from imgd._files import opened

from .stage import StageTest, open_descriptors, png


def received(connection: socket.socket) -> List[Tuple[bytes, bytes]]:
    """The reads that the kernel makes of what was sent, each with what is in its file."""
    reads: List[Tuple[bytes, bytes]] = []
    while True:
        try:
            data, rights, _, _ = connection.recvmsg(1 << 20, 1024, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return reads
        numbers = array.array("i", b"".join(content for _, _, content in rights))
        contents = [os.pread(number, 1000, 0) for number in numbers]
        for number in numbers:
            os.close(number)
        reads.append((data, b"".join(contents)))


class SendingTests(unittest.TestCase):
    def setUp(self) -> None:
        self.before = open_descriptors()
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.conversation = Conversation("/the/socket")

    def tearDown(self) -> None:
        self.near.close()
        self.far.close()
        del self.conversation
        self.assertEqual(open_descriptors(), self.before)

    def test_a_message_ends_with_the_line_of_its_file(self) -> None:
        expected = {}
        for number in range(60):
            request = _requests.fetch("fd:" if number % 3 else "http://h/", share="s" * (number * 40))
            content = b"%d" % number if number % 3 else b""
            call = self.conversation.begin(
                _requests.with_file(request, opened(content) if content else None)
            )
            expected[call.identifier] = content
        seen = {}
        while self.conversation.outbox.unsent:
            try:
                self.conversation.outbox.write(self.near)
            except BlockingIOError:
                pass
            for data, content in received(self.far):
                lines = data.splitlines()
                for line in lines:
                    seen[json.loads(line)["id"]] = b""
                seen[json.loads(lines[-1])["id"]] = content
        self.assertEqual(seen, expected)

    def test_a_line_that_is_sent_in_pieces(self) -> None:
        self.near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        for number in range(20):
            request = _requests.fetch("fd:", headers={"X": "x" * 9_000})
            self.conversation.begin(_requests.with_file(request, opened(b"%d" % number)))
        data, contents = b"", []
        while self.conversation.outbox.unsent:
            try:
                self.conversation.outbox.write(self.near)
            except BlockingIOError:
                pass
            for part, content in received(self.far):
                data += part
                if content:
                    # The line that the last byte of the read belongs to.
                    contents.append((data.count(b"\n", 0, len(data) - 1), content))
        self.assertEqual(contents, [(number, b"%d" % number) for number in range(20)])

    def test_who_gives_up_leaves_nothing_open(self) -> None:
        request = _requests.with_file(_requests.fetch("fd:"), opened(b"x"))
        self.conversation.begin(request)
        self.conversation.fail(imgd.ConnectionFailed("the end"))
        del request

    def test_only_a_path_is_stored(self) -> None:
        for deliver in ("path", "bytes", "pixels", "none"):
            for receipt in (None, "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"):
                asked: Any = {"deliver": deliver, "receipt": receipt}
                file = opened(b"x")
                self.conversation.begin(_requests.with_file(_requests.fetch("fd:", **asked), file))
                line = json.loads(self.conversation.outbox.unsent)
                self.conversation.outbox.clear()
                self.assertEqual(line.get("store"), "all" if deliver == "path" else None)

    def test_what_is_no_file(self) -> None:
        something: Any = 7
        with self.assertRaisesRegex(TypeError, "a picture a path, a file or bytes, not int: 7$"):
            opened(something)
        with self.assertRaises(FileNotFoundError):
            opened(Path("/nonexistent/a.png"))
