"""The protocol without a socket: every cut of its input, and every kind of nonsense."""

from __future__ import annotations

import json
import os
import unittest
import uuid
from typing import Any, Dict, List, Tuple

from imgd import _requests
from imgd._conversation import LONGEST_LINE, MOST_DESCRIPTORS, Conversation
from imgd._requests import KnownFetch
from imgd.errors import ConnectionFailed, ConnectionLost, Error

from .stage import open_descriptors


def descriptor(text: str) -> int:
    """The number of a file in memory that has this text."""
    number = os.memfd_create("test")
    os.write(number, text.encode())
    return number


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


class ConversationTests(unittest.TestCase):
    def setUp(self) -> None:
        self.before = open_descriptors()
        self.conversation = Conversation("/the/socket")

    def tearDown(self) -> None:
        self.conversation.fail(ConnectionFailed("the end"))
        del self.conversation
        self.assertEqual(open_descriptors(), self.before)

    def begin(self, count: int = 1, **request: Any) -> Any:
        request = {"cmd": "fetch", "url": "http://a/", **request}
        calls = [self.conversation.begin(request) for _ in range(count)]
        return calls if count > 1 else calls[0]

    def test_requests(self) -> None:
        self.begin(2, url="http://ä/\u2028")
        lines = bytes(self.conversation.outbox.unsent).split(b"\n")
        self.assertEqual([json.loads(text)["id"] for text in lines[:2]], [1, 2])
        self.assertEqual(json.loads(lines[0])["url"], "http://ä/\u2028")
        receipts = {json.loads(text)["receipt"] for text in lines[:2]}
        self.assertEqual(len(receipts), 2)
        self.assertEqual(lines[2], b"")

    def sent(self) -> bytes:
        """What has been queued since the last time."""
        text = bytes(self.conversation.outbox.unsent)
        self.conversation.outbox.unsent.clear()
        return text

    def test_a_known_fetch_is_written_as_any_other(self) -> None:
        for url in ("http://a/b.png", 'http://a/"\\%s%d\n\x7f', "http://ä/\u2028", ""):
            for delivery in ("path", "fd", "pixels", "none"):
                lines = []
                requests: List[Any] = [
                    KnownFetch(url, f'"deliver":"{delivery}"'),
                    {"cmd": "fetch", "url": url, "deliver": delivery},
                ]
                for request in requests:
                    self.conversation.begin(request)
                    line = self.sent()
                    fields = json.loads(line)
                    self.assertEqual(fields["url"], url)
                    line = line.replace(fields["receipt"].encode(), b"R")
                    lines.append(line.replace(b'"id":%d,' % fields["id"], b'"id":I,'))
                # Then the daemon does not parse it again: all else has the same bytes.
                self.assertEqual(lines[0], lines[1])
        with self.assertRaises(ValueError):
            self.conversation.begin(_requests.fetch("\ud800"))
        self.assertEqual(self.sent(), b"")

    def test_receipts(self) -> None:
        receipts = []
        for conversation in (self.conversation, Conversation("/the/socket")):
            conversation.begin(_requests.fetch("http://a/"))
            conversation.begin({"cmd": "fetch", "url": "http://a/"})
            for text in bytes(conversation.outbox.unsent).splitlines():
                receipts.append(json.loads(text)["receipt"])
        self.assertEqual([str(uuid.UUID(receipt)) for receipt in receipts], receipts)
        self.assertEqual({uuid.UUID(receipt).version for receipt in receipts}, {4})
        self.assertEqual(len(set(receipts)), 4)
        self.assertEqual(len({receipt[:23] for receipt in receipts}), 2, "one for each connection")

    def test_a_known_fetch_that_was_given_up(self) -> None:
        call = self.conversation.begin(_requests.fetch("http://a/"))
        receipt = json.loads(self.sent())["receipt"]
        self.assertTrue(self.conversation.abandon(call))
        cancel = json.loads(self.sent())
        self.assertEqual((cancel["cmd"], cancel["receipt"]), ("cancel", receipt))

    def test_paths(self) -> None:
        paths: List[Any] = ["/a/b.png", '/a/"b"', "/ä", "/a\\b", "", None, 5]
        later: List[Dict[str, Any]] = [{}, {"stale": True}, {"deliver_note": "none"}]
        for path in paths:
            for rest in later:
                for ascii_only in (True, False):
                    call = self.conversation.begin(_requests.fetch("http://a/"))
                    fields = {"id": call.identifier, "ok": True, "receipt": "r"}
                    fields.update(url='http://a/","path":"/wrong', path=path, **rest)
                    text = json.dumps(fields, ensure_ascii=ascii_only, separators=(",", ":"))
                    self.conversation.receive(text.encode() + b"\n", [])
                    answer = call.take_answer()
                    self.assertEqual((answer.path, answer.fields), (path, fields))
                    self.assertEqual(answer.path, path, "also when the rest has been read")

    def test_an_answer_that_only_begins_well(self) -> None:
        for text in (b'",,}', b'"}}', b'","url":"\xff"}', b'","path":"\xff"}', b'","path":"}'):
            call = self.begin()
            begin = b'{"id":%d,"ok":true,"receipt":"a' % call.identifier
            self.conversation.receive(begin + text + b"\n", [])
            answer = call.take_answer()
            for name in ("path", "fields"):
                with self.subTest(text), self.assertRaisesRegex(Error, "is not JSON"):
                    getattr(answer, name)

    def test_what_is_no_text(self) -> None:
        for value in ("\ud800", float("nan")):
            with self.assertRaises(ValueError):
                self.begin(url=value)
        self.assertEqual(self.conversation.outbox.unsent, b"")

    def test_every_cut(self) -> None:
        stream = (
            line(id=2, event="progress", received=5, expected=None)
            + b"   \n"
            + line(id=2, ok=True, later={"unknown": [1]})
            + line(id=1, ok=False, error={"code": "dns"})
        )
        for cut in range(1, len(stream)):
            conversation = Conversation("/the/socket")
            first: Any = conversation.begin({"cmd": "ping"})
            second: Any = conversation.begin({"cmd": "ping"})
            conversation.receive(stream[:cut], [])
            conversation.receive(stream[cut:], [])
            self.assertEqual(first.answer.fields["error"]["code"], "dns")
            self.assertEqual(second.answer.fields["later"], {"unknown": [1]})
            self.assertEqual(second.take_progress().received, 5)
            self.assertIsNone(second.take_progress())

    def test_descriptors_in_order(self) -> None:
        calls = self.begin(4)
        # The first read ends in the middle of the line to which its second descriptor belongs.
        lines = [line(id=i, ok=True, fds=[{"kind": "encoded"}]) for i in (3, 1)]
        none = line(id=2, ok=True)
        self.conversation.receive(lines[0] + none + lines[1][:5], [descriptor("c"), descriptor("a")])
        self.conversation.receive(lines[1][5:], [])
        self.conversation.receive(line(id=4, ok=True, fds=[{}]), [descriptor("d")])
        texts: List[str] = []
        for call in calls:
            assert call.answer is not None
            if call.answer.descriptor is None:
                texts.append("")
            else:
                texts.append(os.pread(call.answer.descriptor.fileno(), 9, 0).decode())
                call.answer.descriptor.close()
        self.assertEqual(texts, ["a", "", "c", "d"])

    def test_a_call_that_was_given_up(self) -> None:
        given_up, kept = self.begin(2)
        self.conversation.outbox.unsent.clear()
        self.conversation.abandon(given_up)
        cancel = json.loads(self.conversation.outbox.unsent)
        self.assertEqual((cancel["cmd"], cancel["receipt"]), ("cancel", given_up.request["receipt"]))
        both = line(id=1, ok=True, fds=[{}]) + line(id=2, ok=True, fds=[{}])
        self.conversation.receive(both, [descriptor("not wanted"), descriptor("wanted")])
        self.assertIsNone(given_up.answer)
        self.assertEqual(os.pread(kept.answer.descriptor.fileno(), 9, 0), b"wanted")
        self.conversation.outbox.unsent.clear()
        self.conversation.abandon(kept)
        self.assertEqual(self.conversation.outbox.unsent, b"", "it has ended: there is nothing to cancel")

    def test_answers_to_nobody(self) -> None:
        call = self.begin()
        for identifier in (7, "1", True, None, [], {}, 1.0, 10**30):
            self.conversation.receive(line(id=identifier, ok=True), [])
        self.conversation.receive(line(id=9, ok=True, fds=[{}]), [descriptor("for nobody")])
        self.assertFalse(call.ended)
        self.conversation.receive(line(id=1, ok=True), [])
        self.assertTrue(call.ended)
        self.conversation.receive(line(id=1, ok=True), [])
        self.assertIsNone(self.conversation.failure)

    def test_events_that_are_nonsense(self) -> None:
        call = self.begin()
        nonsense: List[Any] = [None, "progress", 5, "later", [], {}]
        for event in nonsense:
            for received in nonsense:
                if received == 5:
                    continue
                self.conversation.receive(line(id=1, event=event, received=received), [])
        self.assertFalse(call.has_news)

    def test_events_of_nobody_are_kept(self) -> None:
        self.conversation.receive(line(event="job", seq=1) + line(event="job", seq=2, id=8), [])
        self.assertEqual([event["seq"] for event in self.conversation.events], [1, 2])

    def test_strange_programs(self) -> None:
        nested = b'{"id":1,"ok":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
        nonsense: List[Tuple[bytes, str]] = [
            (b"HTTP/1.1 400 Bad Request\r\n", "not JSON"),
            (b"\xff\n", "not JSON"),
            (b"[1]\n", "not a JSON object"),
            (b"null\n", "not a JSON object"),
            (nested, "not JSON"),
            (line(id=1, ok=True, fds=[{}]), "lacks its descriptor"),
        ]
        for text, reason in nonsense:
            conversation = Conversation("/the/socket")
            call = conversation.begin({"cmd": "ping"})
            conversation.receive(text, [])
            with self.subTest(text[:20]), self.assertRaisesRegex(ConnectionFailed, reason):
                raise call.failure or AssertionError("it was taken")
            self.assertNotIsInstance(call.failure, ConnectionLost, "to ask again is no use")
            self.assertIn("/the/socket", str(call.failure))

    def test_a_line_without_end(self) -> None:
        call = self.begin()
        for _ in range(LONGEST_LINE // 65536):
            self.conversation.receive(b" " * 65536, [])
        self.assertFalse(call.ended)
        self.conversation.receive(b" ", [])
        self.assertIn(str(LONGEST_LINE), str(call.failure))

    def test_descriptors_without_a_line(self) -> None:
        call = self.begin()
        for _ in range(MOST_DESCRIPTORS):
            self.conversation.receive(b" ", [descriptor("")])
        self.assertFalse(call.ended)
        self.conversation.receive(b" ", [descriptor("")])
        self.assertIn("descriptors", str(call.failure))

    def test_more_descriptors_than_were_taken(self) -> None:
        call = self.begin()
        self.conversation.receive(b" ", [descriptor("")], cut=True)
        self.assertTrue(call.ended)

    def test_the_end(self) -> None:
        calls = self.begin(2)
        self.conversation.receive(line(id=1, ok=True), [])
        self.conversation.receive(b'{"id":2,', [descriptor("")])
        self.conversation.receive(b"", [])
        self.assertIsNone(calls[0].failure)
        self.assertIsInstance(calls[1].failure, ConnectionLost)
        self.assertIsInstance(self.begin().failure, ConnectionLost)
        self.assertEqual(self.conversation.outbox.unsent, b"")

    def test_the_end_while_another_thread_writes(self) -> None:
        call = self.begin()
        # In a forked process that thread is never done.
        with memoryview(self.conversation.outbox.unsent):
            self.conversation.fail(ConnectionLost("forked"))
        self.assertTrue(call.ended)
        self.assertEqual(self.conversation.outbox.unsent, b"")

    def test_a_word_about_the_connection(self) -> None:
        call = self.begin()
        error = {"code": "shutting_down", "message": "imgd is stopping"}
        self.conversation.receive(line(ok=False, error=error), [])
        self.assertIsInstance(call.failure, ConnectionLost)
        self.assertIn("imgd is stopping", str(call.failure))

    def test_a_line_that_was_too_long(self) -> None:
        short, long, middle = (self.begin(url="x" * size) for size in (1, 90, 9))
        error: Dict[str, Any] = {"code": "line_too_long"}
        self.conversation.receive(line(ok=False, error=error), [])
        self.assertEqual(long.answer.fields["error"], error)
        self.assertFalse(short.ended or middle.ended)
