"""The README's code, run as it stands but for the address of the origin."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List

import imgd

from .stage import StageTest, png

README = Path(__file__).parents[1] / "README.md"


def recipes() -> List[str]:
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


class RecipeTests(StageTest):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)
        os.environ["IMGD_SOCKET"] = self.daemon.socket
        self.addCleanup(os.environ.pop, "IMGD_SOCKET")
        for name in ["cat", "large", *map(str, range(1, 9))]:
            self.origin.serve(f"/{name}.jpg", png(640, 480, len(name)))

    def run_recipe(self, word: str) -> Dict[str, Any]:
        """Runs the only recipe that has this word; its names, and in `printed` what it printed."""
        found = [recipe for recipe in recipes() if word in recipe]
        self.assertEqual(len(found), 1, word)
        names: Dict[str, Any] = {}
        out, err = io.StringIO(), io.StringIO()
        code = found[0].replace("https://example.org", self.origin.url(""))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            exec(compile(code, str(README), "exec"), names)
        return {**names, "printed": out.getvalue(), "shown": err.getvalue()}

    def test_all_are_here(self) -> None:
        called = re.findall(r'run_recipe\("(.*?)"\)', Path(__file__).read_text())
        left = [recipe for recipe in recipes() if not any(word in recipe for word in called)]
        self.assertEqual(left, [])

    def test_first(self) -> None:
        printed = self.run_recipe("picture.path, picture.format")["printed"]
        self.assertRegex(printed, r"^/.*\.png png 640 480\n$")

    def test_errors(self) -> None:
        self.assertEqual(self.run_recipe("again later")["printed"], "404\n")

    def test_pillow(self) -> None:
        names = self.run_recipe("Image.frombuffer")
        image, pixels = names["image"], names["pixels"]
        self.assertEqual(image.getpixel((100, 200)), (100, 200, 3, 255))
        self.assertEqual(image.readonly, 1, "it is over the memory of the pixels")
        with names["Image"].open("grey.png") as grey:
            self.assertEqual(grey.size, pixels.size)

    def test_pillow_reads_a_picture(self) -> None:
        self.assertEqual(self.run_recipe("Image.open(picture)")["printed"], "PNG (640, 480)\n")

    def test_own_pictures(self) -> None:
        Path("cat.png").write_bytes(png(640, 480))
        printed = self.run_recipe("len(bytes(small))")["printed"]
        self.assertRegex(printed, r"^\(64, 48\) webp \d+\n$")

    def test_an_upload(self) -> None:
        Path("cat.png").write_bytes(png(640, 480))
        self.assertEqual(self.run_recipe("uploaded.png")["printed"], "memory\n")
        self.assertEqual(self.origin.count("/uploaded.png"), 0)

    def test_a_file_manager(self) -> None:
        for number in range(5):
            Path(f"{number}.png").write_bytes(png(200, 100, number))
        self.run_recipe(".thumbnail")
        thumbnails = sorted(name for name in os.listdir() if name.endswith(".thumbnail"))
        self.assertEqual(thumbnails, [f"{i}.png.thumbnail" for i in range(5)])
        self.assertEqual(Path("0.png.thumbnail").read_bytes()[:4], b"\x89PNG")

    def test_numpy(self) -> None:
        names = self.run_recipe("import numpy")
        numpy, array, picture = names["numpy"], names["array"], names["picture"]
        self.assertEqual(array.shape, (64, 64, 4))
        self.assertFalse(array.flags.writeable)
        flat = numpy.frombuffer(picture.memoryview(), dtype=numpy.uint8)
        self.assertTrue(numpy.shares_memory(array, flat))
        self.assertTrue(numpy.shares_memory(numpy.asarray(picture.pixels().memoryview()), flat))
        del flat, picture, names["picture"]
        gc.collect()
        self.assertEqual(array[0, 0, 3], 255, "an array keeps its memory")

    def test_gaps_between_rows(self) -> None:
        numpy = importlib.import_module("numpy")
        buffer = memoryview(bytes(range(40)))
        array = numpy.asarray(imgd.Pixels(buffer, 2, 3, 12))
        self.assertEqual(array[:, :, 0].tolist(), [[0, 4], [12, 16], [24, 28]])
        with self.assertRaises(imgd.Error):
            imgd.Pixels(buffer, 2, 3, 12).memoryview()
        for size in ((2, 4, 12), (4, 3, 12), (0, 3, 12), (2, -3, 12)):
            with self.subTest(size), self.assertRaises(imgd.Error):
                imgd.Pixels(buffer, *size)

    def test_thumbnails(self) -> None:
        printed = self.run_recipe("shutil")["printed"]
        self.assertIn("9.jpg", printed, "it is missing at the origin")
        self.assertEqual(sorted(os.listdir()), [f"{i}.webp" for i in range(8)])
        self.assertEqual(Path("0.webp").read_bytes()[8:12], b"WEBP")

    def test_progress_bar(self) -> None:
        self.assertRegex(self.run_recipe("def show")["shown"], r"#{40} 100%\n$")

    def test_gallery(self) -> None:
        html = self.run_recipe("def gallery")["html"]
        self.assertEqual(len(re.findall(r'src="file:///.*?" .*#[0-9a-f]{6}', html)), 8)

    def test_events(self) -> None:
        self.assertEqual(self.run_recipe("def watch")["printed"], "stored 1\n")

    def test_web_application(self) -> None:
        names = self.run_recipe("def application")
        self.addCleanup(names["client"].close)
        said: List[Any] = []

        def start(*arguments: Any) -> None:
            said.append(arguments)

        (body,) = names["application"]({"PATH_INFO": "/cat.jpg"}, start)
        self.assertEqual(said, [("200 OK", [("Content-Type", "image/jpeg")])])
        self.assertEqual(body[:2], b"\xff\xd8")
        self.assertEqual(names["application"]({"PATH_INFO": "/missing"}, start), [])
        self.assertEqual(said[1][0], "404 Not Found")
