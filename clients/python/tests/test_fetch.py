"""Pictures, in every form in which they are delivered."""

from __future__ import annotations

import gc
import os
import pickle
from pathlib import Path
from typing import Any, List

import imgd
from imgd._memory import LARGEST_READ

from .stage import StageTest, open_descriptors, png


class FetchTests(StageTest):
    def setUp(self) -> None:
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def test_path(self) -> None:
        url = self.serve(body=png(30, 20))
        picture = self.client.fetch(url)
        assert picture.path is not None
        with open(picture.path, "rb") as file:
            self.assertEqual(file.read(), png(30, 20))
        self.assertEqual((picture.size, picture.width, picture.height), ((30, 20), 30, 20))
        self.assertEqual((picture.format, picture.type), ("png", "image/png"))
        self.assertEqual((picture.url, picture.final_url), (url, url))
        self.assertEqual(picture.source, "network")
        self.assertEqual(picture.bytes_count, len(png(30, 20)))
        self.assertEqual((picture.frames, picture.orientation, picture.stale), (1, 1, False))
        self.assertEqual(picture.raw["receipt"], picture.receipt)
        self.assertEqual(self.client.fetch(url).source, "memory")

    def test_bytes_of_a_path(self) -> None:
        with self.client.fetch(self.serve()) as picture:
            self.assertEqual(picture.bytes(), png())
            assert picture.path is not None
            os.unlink(picture.path)
            self.assertEqual(picture.bytes(), png(), "it was open already")

    def test_a_path_that_is_gone(self) -> None:
        picture = self.client.fetch(self.serve())
        assert picture.path is not None
        os.unlink(picture.path)
        with self.assertRaisesRegex(imgd.PictureGone, 'deliver="bytes"'):
            picture.bytes()

    def test_no_file(self) -> None:
        picture = self.client.fetch(self.serve(cache="no-store"))
        self.assertIsNone(picture.path)
        with self.assertRaisesRegex(imgd.PictureGone, "has no file: .+"):
            picture.bytes()

    def test_bytes(self) -> None:
        picture = self.client.fetch(self.serve(cache="no-store"), deliver="bytes")
        self.assertEqual(picture.bytes(), png())
        view = picture.memoryview()
        self.assertTrue(view.readonly)
        picture.close()
        self.assertEqual(bytes(view), png(), "a view outlives its picture")
        with self.assertRaises(ValueError):
            picture.bytes()

    def test_large_ones_are_mapped_and_small_ones_read(self) -> None:
        def mappings() -> int:
            return Path("/proc/self/maps").read_text().count("/memfd:")

        body = png() + bytes(LARGEST_READ)
        large, small = self.serve("large.png", body), self.serve("small.png")
        before = mappings()
        for url, content, mapped in ((large, body, 1), (small, png(), 0)):
            self.client.fetch(url).path
            picture = self.client.fetch(url, deliver="bytes")
            self.assertEqual(mappings(), before + mapped)
            view = picture.memoryview()
            self.assertTrue(view.readonly)
            self.assertEqual((picture.bytes(), bytes(view)), (content, content))
            self.assertEqual(os.pread(picture.fileno(), len(content) + 1, 0), content)
            picture.close()
            self.assertEqual(bytes(view), content, "a view outlives its picture")
            del view
            self.assertEqual(mappings(), before)

    def test_none(self) -> None:
        picture = self.client.fetch(self.serve(), deliver="none")
        self.assertEqual((picture.path, picture.width), (None, 8))

    def test_not_modified(self) -> None:
        url = self.serve()
        self.assertFalse(self.client.fetch(url).not_modified)
        fetch: Any = self.client.fetch
        for deliver in ("path", "bytes", "pixels", "none"):
            picture = fetch(url, deliver=deliver, headers={"If-None-Match": "*"})
            self.assertTrue(picture.not_modified)
            self.assertEqual((picture.path, picture.source), (None, "memory"))
            with self.assertRaisesRegex(imgd.PictureGone, "not modified"):
                picture.bytes()

    def test_pixels(self) -> None:
        picture = self.client.fetch(self.serve(body=png(5, 3, salt=9)), deliver="pixels")
        pixels = picture.pixels()
        self.assertEqual((pixels.size, pixels.stride), ((5, 3), 20))
        view: Any = pixels.memoryview()
        self.assertEqual(view.shape, (3, 5, 4))
        self.assertEqual([view[2, 4, i] for i in range(4)], [4, 2, 9, 255])

    def test_pixels_of_an_encoded_picture(self) -> None:
        with self.assertRaisesRegex(imgd.Error, 'deliver="pixels"'):
            self.client.fetch(self.serve(), deliver="bytes").pixels()

    def test_other_forms(self) -> None:
        url = self.serve(body=png(40, 20))
        self.assertEqual(self.client.fetch(url, resize=(10, None)).size, (10, 5))
        self.assertEqual(self.client.fetch(url, resize=(10, 10), fit="cover").size, (10, 10))
        wanted = {"width": 10, "height": 10, "fit": "fill"}
        picture = self.client.fetch(url, resize=wanted, format="jpeg", quality=50)
        self.assertEqual((picture.size, picture.format), ((10, 10), "jpeg"))
        with self.assertRaisesRegex(ValueError, "fit"):
            self.client.fetch(url, fit="cover")

    def test_describe(self) -> None:
        picture = self.client.fetch(self.serve(), describe=True)
        self.assertRegex(picture.average or "", "^#[0-9a-f]{6}$")
        self.assertIsNotNone(picture.thumbhash)

    def test_progress(self) -> None:
        url = self.serve(body=png(64, 64), held=True)
        seen: List[imgd.Progress] = []

        def note(progress: imgd.Progress) -> None:
            seen.append(progress)
            self.origin.release(self.path())

        self.client.fetch(url, progress=note)
        whole = len(png(64, 64))
        self.assertEqual(seen[-1], imgd.Progress(url, whole, whole))
        self.assertLess(seen[0].received, whole)

    def test_options_arrive(self) -> None:
        url = self.serve()
        self.client.fetch(url, tags="alone", ttl=1, priority="high", identifier="i", share="s")
        entry = self.client.query(url, identifier="i")
        self.assertEqual((entry["tier"], entry["tags"]), ("memory", ["alone"]))
        self.assertEqual(self.client.query(url)["tier"], "none")
        with self.assertRaises(imgd.TooLarge):
            self.client.fetch(url, max_bytes=5)
        with self.assertRaises(imgd.FetchError):
            self.client.fetch(url, share="")
        picture = self.client.fetch(url, headers={"Accept-Language": "fr"}, cache="reload")
        self.assertEqual(picture.source, "network")

    def test_a_receipt_of_your_own(self) -> None:
        receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
        self.assertEqual(self.client.fetch(self.serve(), receipt=receipt).receipt, receipt)

    def test_errors(self) -> None:
        with self.assertRaises(imgd.HTTPError) as missing:
            self.client.fetch(self.origin.url("/missing"))
        error = missing.exception
        self.assertEqual((error.code, error.status, error.retryable), ("http_status", 404, False))
        self.assertEqual(error.url, self.origin.url("/missing"))
        with self.assertRaises(imgd.NotCached):
            self.client.fetch(self.serve(), cache="only-if-cached")
        with self.assertRaises(imgd.NotAPicture):
            self.client.fetch(self.serve("page", b"<html>", kind="text/html"))
        with self.assertRaises(imgd.DecodeFailed):
            self.client.fetch(self.serve("bad", png()[:-30]), deliver="pixels", resize=(4, 4))
        with self.assertRaises(imgd.FetchError) as bad:
            self.client.fetch("ftp://example.org/a.png")
        self.assertEqual((bad.exception.code, type(bad.exception)), ("blocked_scheme", imgd.Blocked))
        with self.assertRaises(imgd.Unreachable):
            self.client.fetch("http://127.0.0.1:1/a.png")

    def test_errors_of_the_program(self) -> None:
        with self.assertRaisesRegex(ValueError, "deliver"):
            self.client.fetch(self.serve(), deliver="fd")  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "UTF-8"):
            self.client.fetch(self.serve() + "?\udc80")
        with self.assertRaises(imgd.FetchError) as long:
            self.client.fetch(self.serve(), headers={"X-A": "a" * 70_000})
        self.assertEqual(long.exception.code, "line_too_long")
        self.client.ping()

    def test_no_descriptor_is_left(self) -> None:
        url = self.serve()
        self.client.ping()
        before = open_descriptors()
        for _ in range(3):
            self.client.fetch(url, deliver="bytes").close()
            with self.client.fetch(url, deliver="bytes") as picture:
                picture.bytes()
            self.client.fetch(url, deliver="pixels").pixels()
            self.client.fetch(url).bytes()
        gc.collect()
        self.assertEqual(open_descriptors(), before)

    def test_pickle(self) -> None:
        picture = self.client.fetch(self.serve())
        copy = pickle.loads(pickle.dumps(picture))
        self.assertEqual((copy.raw, copy.bytes()), (picture.raw, png()))
        with self.assertRaises(TypeError):
            pickle.dumps(self.client.fetch(self.serve(), deliver="bytes"))
        error = imgd.HTTPError("http_status", "gone", False, {"status": 410}, "http://a/")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), again.status, str(again)), (imgd.HTTPError, 410, str(error)))


class ForeverTests(StageTest):
    """One client, asked again and again, keeps nothing."""

    def test_a_thousand_hits(self) -> None:
        url = self.serve()
        with imgd.Client(self.daemon.socket) as client:
            client.fetch(url)
            before = open_descriptors()
            for _ in range(1000):
                client.fetch(url, deliver="bytes")
            self.assertEqual(open_descriptors(), before)
            self.assertEqual(self.origin.count(self.path()), 1)
