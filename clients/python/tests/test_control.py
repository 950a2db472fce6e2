"""Everything that is not a fetch."""

from __future__ import annotations

import os
import threading
from typing import Any, Dict, List

import imgd

from .stage import StageTest, png


class ControlTests(StageTest):
    def setUp(self) -> None:
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def test_start_and_wait(self) -> None:
        url = self.serve(held=True)
        receipt = self.client.start(url, tags=["later"])
        with self.assertRaises(imgd.TimedOut):
            self.client.wait(receipt, timeout=0.01)
        self.assertEqual(len(self.client.list()), 1, "a wait that ends cancels no fetch")
        self.origin.release(self.path())
        self.assertEqual(self.client.wait(receipt, deliver="bytes").bytes(), png())
        with self.assertRaises(imgd.UnknownReceipt):
            self.client.wait("00000000-0000-4000-8000-000000000000")

    def test_cancel(self) -> None:
        url = self.serve(held=True)
        receipt = self.client.start(url)
        self.origin.await_request(self.path())
        self.assertEqual(self.client.cancel(receipt), "running")
        with self.assertRaises(imgd.Cancelled):
            self.client.wait(receipt)
        self.assertEqual(self.client.cancel("00000000-0000-4000-8000-000000000000"), "unknown")
        self.client.start(url, tags=["a"])
        self.client.start(url, tags=["b"])
        self.assertEqual(self.client.cancel(tag="a"), 1)
        self.assertEqual(self.client.cancel(all=True), 1)
        self.assertEqual(self.client.list(), [])
        anyhow: Any = self.client.cancel
        for arguments in ({}, {"tag": "a", "all": True}):
            with self.assertRaisesRegex(ValueError, "exactly one"):
                anyhow(**arguments)

    def test_purge(self) -> None:
        first, second = self.serve("1.png"), self.serve("2.png")
        self.client.fetch(first, tags=["one"])
        self.client.fetch(second)
        self.assertTrue(self.client.purge(tag="one")["removed"])
        self.assertEqual(self.client.query(first)["tier"], "none")
        self.assertEqual(self.client.query(second)["tier"], "memory")
        self.assertFalse(self.client.purge(url=second, soft=True)["removed"])
        self.assertEqual(self.client.purge(prefix=second, older_than=3600)["memory"]["entries"], 0)
        self.assertTrue(self.client.purge(everything=True)["removed"])
        self.assertEqual(self.client.query(second)["tier"], "none")

    def test_a_purge_of_everything_is_said(self) -> None:
        url = self.serve()
        self.client.fetch(url)
        mistakes: List[Dict[str, Any]] = [
            {},
            {"tier": "memory"},
            {"soft": True},
            {"host": None},
            {"expired": False},
            {"prefix": ""},
            {"everything": True, "tag": "a"},
        ]
        for mistake in mistakes:
            with self.subTest(mistake), self.assertRaises(ValueError):
                self.client.purge(**mistake)
        self.assertEqual(self.client.query(url)["tier"], "memory")

    def test_entries_over_pages(self) -> None:
        # An answer has 256 KiB at most, whatever the limit.
        urls = {self.serve(f"{i}?{'x' * 7000}") for i in range(60)}
        # The answer with a path comes when the disk tier has the picture.
        for outcome in self.client.fetch_many(sorted(urls)):
            outcome.get()
        prefix = self.origin.url(self.path(""))
        for tier, listed in (
            ("memory", self.client.entries(prefix=prefix)),
            ("disk", self.client.entries(tier="disk", prefix=prefix)),
        ):
            with self.subTest(tier):
                entries = list(listed)
                self.assertEqual({entry["url"] for entry in entries} ^ urls, set())
                self.assertEqual(len(entries), len(urls))

    def test_entries_by_their_urls(self) -> None:
        url = self.serve("Some-Thing.png")
        self.client.fetch(url)
        for found in (
            self.client.entries(url=url),
            self.client.entries(contains="me-thing.P"),
            self.client.entries(tier="disk", contains="me-thing.P"),
        ):
            self.assertEqual([entry["url"] for entry in found], [url])
        self.assertEqual(list(self.client.entries(contains="any-thing")), [])

    def test_clients_and_failures(self) -> None:
        missing = self.origin.url(self.path("missing.png"))
        with self.assertRaises(imgd.FetchError):
            self.client.fetch(missing)
        own = [row for row in self.client.clients() if row["pid"] == os.getpid()]
        self.assertGreater(own[-1]["requests"], 1)
        self.assertEqual(self.client.failures()[0]["url"], missing)
        self.assertEqual(self.client.failures()[0]["code"], "http_status")
        self.assertEqual(self.client.fleet(), [])

    def test_facts(self) -> None:
        self.client.ping()
        self.assertEqual(self.client.hello()["protocol"], 1)
        self.assertIn("hits", self.client.stats()["memory"])
        self.assertIn("Capacity", self.client.config()["Memory"])
        self.assertEqual(self.client.reload()["changed"], [])

    def test_a_refusal(self) -> None:
        with self.assertRaises(imgd.RequestError) as refusal:
            self.client.query(self.serve(), identifier="x" * 300)
        self.assertEqual(refusal.exception.code, "bad_request")
        self.assertNotIsInstance(refusal.exception, imgd.FetchError)

    def test_subscribe(self) -> None:
        url = self.serve()
        with self.client.subscribe("jobs") as events:
            self.assertIn("jobs", events.snapshot)
            receipt = self.client.fetch(url).receipt
            states = []
            for event in events:
                if event["receipt"] == receipt:
                    states.append(event["state"])
                    if states[-1] == "done":
                        break
        self.assertEqual(states, ["queued", "running", "done"])
        with self.assertRaises(StopIteration):
            next(events)
        with self.assertRaises(ValueError):
            self.client.subscribe()
        with self.assertRaises(imgd.RequestError):
            self.client.subscribe("weather")  # type: ignore[arg-type]

    def test_a_subscription_that_another_thread_closes(self) -> None:
        events = self.client.subscribe("config")
        seen: List[Dict[str, Any]] = []
        reader = threading.Thread(target=lambda: seen.extend(events))
        reader.start()
        events.close()
        reader.join()
        self.assertEqual(seen, [])
