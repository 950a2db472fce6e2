"""What a Python program tries first: files, exceptions of its own kinds, mistakes in arguments."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import importlib
import os
import pickle
import resource
import shutil
from pathlib import Path
from typing import Any, Iterator, List

import imgd
import imgd.aio

from .stage import StageTest, open_descriptors, png


@contextlib.contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """This process can open so many files, and no more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The lowest numbers are given out first: behind them there is no gap.
    filled: List[int] = []
    highest = max(int(number) for number in os.listdir("/proc/self/fd"))
    while not filled or filled[-1] <= highest:
        filled.append(os.dup(2))
    resource.setrlimit(resource.RLIMIT_NOFILE, (filled[-1] + 1 + count, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for number in filled:
            os.close(number)


class NaturalTests(StageTest):
    def setUp(self) -> None:
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    # --- Pictures ---

    def test_a_picture_is_a_path(self) -> None:
        picture = self.client.fetch(self.serve())
        with open(picture, "rb") as file:
            self.assertEqual(file.read(), png())
        self.assertEqual(Path(picture).read_bytes(), png())
        copy = f"{os.path.dirname(self.daemon.socket)}/copy.png"
        shutil.copyfile(picture, copy)
        self.addCleanup(os.unlink, copy)
        self.assertEqual(os.path.getsize(copy), len(png()))

    def test_a_picture_in_memory_has_a_path_in_this_process(self) -> None:
        picture = self.client.fetch(self.serve(), deliver="bytes")
        for _ in range(2):
            with open(picture, "rb") as file:
                self.assertEqual(file.read(), png())
        picture.close()
        with self.assertRaisesRegex(ValueError, "is closed"):
            os.fspath(picture)

    def test_a_picture_that_did_not_come_says_what_to_do(self) -> None:
        picture = self.client.fetch(self.serve(), deliver="none")
        with self.assertRaisesRegex(imgd.PictureGone, r'has no file: .+ Fetch it with deliver="bytes"'):
            os.fspath(picture)

    def test_a_picture_is_read_as_a_file(self) -> None:
        url = self.serve()
        image = importlib.import_module("PIL.Image")
        for deliver in ("path", "bytes"):
            fetch: Any = self.client.fetch
            with fetch(url, deliver=deliver) as picture:
                self.assertEqual((picture.read(4), picture.tell()), (png()[:4], 4))
                self.assertEqual((picture.seek(-4, 2), picture.read()), (len(png()) - 4, png()[-4:]))
                with image.open(picture) as opened:
                    self.assertEqual((opened.format, opened.size, opened.load()[3, 4]), ("PNG", (8, 8), (3, 4, 0)))
            with self.assertRaisesRegex(ValueError, "is closed"):
                picture.read()

    def test_bytes_and_files_in_memory(self) -> None:
        url = self.serve()
        for picture in (self.client.fetch(url), self.client.fetch(url, deliver="bytes")):
            self.assertEqual(bytes(picture), png())
            with picture.open() as file:
                self.assertEqual((file.read(4), file.seek(0), file.read()), (png()[:4], 0, png()))
            for _ in range(2):
                self.assertEqual(os.pread(picture.fileno(), 9_999, 0), png())
            picture.close()

    def test_dictionaries_have_what_was_asked_for(self) -> None:
        url = self.serve()
        with self.client.subscribe("jobs") as events:
            self.client.fetch(url)
            self.assertNotIn("id", next(events))
        answers = [self.client.stats(), self.client.hello(), self.client.query(url)]
        answers += [self.client.purge(url=url), self.client.reload()]
        for answer in answers:
            self.assertFalse({"id", "ok"} & set(answer), answer)

    # --- Descriptors ---

    def test_pictures_in_memory_hold_no_descriptor(self) -> None:
        url = self.serve()
        self.client.fetch(url)
        before = open_descriptors()
        pictures = [self.client.fetch(url, deliver="bytes") for _ in range(50)]
        pictures += [self.client.fetch(url, deliver="pixels") for _ in range(50)]
        self.assertEqual(open_descriptors(), before)
        self.assertEqual(pictures[0].bytes(), png())

    def test_thousands_at_once_with_few_descriptors(self) -> None:
        url = self.serve()

        async def work() -> None:
            async with imgd.aio.Client(self.daemon.socket) as client:
                await client.fetch(url)
                with descriptors_left(8):
                    fetches = (client.fetch(url, deliver="bytes") for _ in range(2_000))
                    pictures = await asyncio.gather(*fetches)
                self.assertEqual({picture.bytes_count for picture in pictures}, {len(png())})
                self.assertEqual(pictures[-1].bytes(), png())

        asyncio.run(work())

    def test_no_descriptor_is_left(self) -> None:
        url = self.serve()
        self.client.fetch(url)
        with descriptors_left(0), self.assertRaises(imgd.NoDescriptor) as none:
            self.client.fetch(url, deliver="bytes")
        error = none.exception
        self.assertIsInstance(error, OSError)
        self.assertEqual(error.errno, errno.EMFILE)
        self.assertRegex(
            str(error), r"no file descriptor left \(\d+\): close pictures, or raise the limit"
        )
        self.assertEqual(pickle.loads(pickle.dumps(error)).args, error.args)
        # The connection is as good as before.
        connected = self.client.stats()["clients"]["accepted"]
        self.assertEqual(self.client.fetch(url, deliver="bytes").bytes(), png())
        self.assertEqual(self.client.stats()["clients"]["accepted"], connected)

    def test_no_descriptor_is_left_with_asyncio(self) -> None:
        url = self.serve()

        async def work() -> None:
            async with imgd.aio.Client(self.daemon.socket) as client:
                await client.fetch(url)
                with descriptors_left(0), self.assertRaises(imgd.NoDescriptor):
                    await client.fetch(url, deliver="bytes")
                self.assertEqual((await client.fetch(url, deliver="bytes")).bytes(), png())

        asyncio.run(work())

    # --- Exceptions ---

    def test_exceptions_are_of_the_usual_kinds(self) -> None:
        url = self.serve(held=True)
        with self.assertRaises(TimeoutError) as late:
            self.client.fetch(url, timeout=0.05)
        assert isinstance(late.exception, imgd.TimedOut)
        again = pickle.loads(pickle.dumps(late.exception))
        self.assertEqual((again.code, again.details), ("timeout", late.exception.details))
        with self.assertRaises(ConnectionError) as nobody:
            imgd.Client("/nowhere/imgd.sock").ping()
        self.assertIsInstance(nobody.exception, imgd.ConnectionFailed)
        self.assertRegex(str(nobody.exception), "^cannot connect to imgd at /nowhere/imgd.sock: ")

    def test_asyncio_says_the_same(self) -> None:
        url = self.serve(held=True)

        async def work() -> None:
            async with imgd.aio.Client(self.daemon.socket) as client:
                with self.assertRaises(imgd.TimedOut) as late:
                    await client.fetch(url, timeout=0.05)
                self.assertNotEqual(late.exception.details["phase"], "answer")
            with self.assertRaisesRegex(
                imgd.ConnectionFailed, "^cannot connect to imgd at /nowhere/imgd.sock: "
            ):
                await imgd.aio.Client("/nowhere/imgd.sock").ping()

        asyncio.run(work())

    # --- Arguments ---

    def test_a_width_alone(self) -> None:
        url = self.serve(body=png(40, 20))
        self.assertEqual(self.client.fetch(url, resize=10).size, (10, 5))

    def test_mistakes(self) -> None:
        url = self.serve()
        fetch: Any = self.client.fetch
        for size in ((100,), (1, 2, 3), "100x100", 1.5, ()):
            with self.assertRaisesRegex(ValueError, r"resize is a width, or \(width, height\)"):
                fetch(url, resize=size)
        with self.assertRaisesRegex(ValueError, "^fit means nothing without resize$"):
            fetch(url, fit="cover")
        with self.assertRaisesRegex(ValueError, "^fit and crop mean nothing without resize$"):
            fetch(url, fit="cover", crop="centre")
        query: Any = self.client.query
        for ask in (fetch, query):
            with self.assertRaisesRegex(TypeError, "^a URL is a str, (and a picture .+, )?not int: "):
                ask(7)
