"""Many pictures over one connection."""

from __future__ import annotations

import itertools
import threading
from typing import Iterator, List

import imgd

from .stage import StageTest, open_descriptors, png


class ManyTests(StageTest):
    def setUp(self) -> None:
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def test_order(self) -> None:
        urls = [self.serve(f"{i}.png", png(i + 1, 1)) for i in range(40)]
        outcomes = list(self.client.fetch_many(urls, at_once=8, deliver="bytes"))
        self.assertEqual([outcome.url for outcome in outcomes], urls)
        self.assertEqual([outcome.get().width for outcome in outcomes], list(range(1, 41)))
        self.assertEqual([o.get().bytes() for o in outcomes], [png(i, 1) for i in range(1, 41)])

    def test_as_they_come(self) -> None:
        slow = self.serve("slow.png", held=True)
        fast = [self.serve(f"{i}.png") for i in range(5)]
        outcomes = self.client.fetch_many([slow, *fast], ordered=False)
        self.assertEqual({next(outcomes).url for _ in fast}, set(fast))
        self.origin.release(self.path("slow.png"))
        self.assertEqual([outcome.url for outcome in outcomes], [slow])

    def test_a_slow_one_holds_the_order_and_nothing_else(self) -> None:
        slow = self.serve("slow.png", held=True)
        fast = [self.serve(f"{i}.png") for i in range(3)]

        def release() -> None:
            for i in range(3):
                self.origin.await_request(self.path(f"{i}.png"))
            self.origin.release(self.path("slow.png"))

        releasing = threading.Thread(target=release)
        releasing.start()
        outcomes = list(self.client.fetch_many([slow, *fast], at_once=4))
        releasing.join()
        self.assertEqual([outcome.url for outcome in outcomes], [slow, *fast])

    def test_errors_are_outcomes(self) -> None:
        good, bad = self.serve(), self.origin.url("/missing")
        first, second = self.client.fetch_many([bad, good])
        self.assertIsInstance(first.error, imgd.HTTPError)
        self.assertIsNone(first.picture)
        self.assertIsNotNone(second.get().path)
        with self.assertRaises(imgd.HTTPError):
            first.get()

    def test_bounded(self) -> None:
        taken: List[str] = []

        def endless() -> Iterator[str]:
            for i in itertools.count():
                taken.append(self.serve(f"{i}.png", held=i >= 3))
                yield taken[-1]

        outcomes = self.client.fetch_many(endless(), at_once=3)
        for _ in range(3):
            next(outcomes).get()
        self.assertEqual(len(taken), 5, "two wait, beside the third that was asked for")
        self.assertEqual([job["url"] for job in self.client.list()], taken[3:])
        outcomes.close()  # type: ignore[attr-defined]
        self.assertEqual(self.client.list(), [], "leaving the loop cancels the rest")

    def test_leaving_early_leaves_no_descriptor(self) -> None:
        urls = [self.serve(f"{i}.png") for i in range(20)]
        self.client.ping()
        before = open_descriptors()
        for outcome in self.client.fetch_many(urls, deliver="bytes"):
            outcome.get().close()
            break
        self.client.ping()
        del outcome
        self.assertEqual(open_descriptors(), before)

    def test_progress(self) -> None:
        urls = [self.serve(f"{i}.png", png(50, 50, i)) for i in range(4)]
        seen: List[imgd.Progress] = []
        for outcome in self.client.fetch_many(urls, progress=seen.append):
            outcome.get()
        self.assertEqual({progress.url for progress in seen}, set(urls))

    def test_thousands(self) -> None:
        url = self.serve()
        self.client.fetch(url)
        outcomes = self.client.fetch_many(itertools.repeat(url, 5000), at_once=1000)
        self.assertEqual(sum(outcome.get().source == "memory" for outcome in outcomes), 5000)

    def test_none_at_once(self) -> None:
        with self.assertRaisesRegex(ValueError, "at_once"):
            self.client.fetch_many([], at_once=0)
