"""Other forms of pictures, seen by Pillow: what each format and each list keeps of a picture."""

from __future__ import annotations

import importlib
import io
import unittest
from typing import Any, Dict, List, Tuple

import imgd

from .stage import StageTest

SIZE = (60, 40)
FRAMES = 10
FORMATS = ("jpeg", "png", "webp", "avif", "gif", "tiff", "jxl")
MOVING = ("gif", "webp")
#: Of these, Pillow reads what it wrote, and imgd only the first frame.
UNREAD = "apng"


def sources() -> Dict[str, bytes]:
    """Pictures by what they have: their kind, and whether they have alpha and frames."""
    image: Any = importlib.import_module("PIL.Image")
    opaque = image.new("RGB", SIZE, (200, 40, 90))
    clear = image.new("RGBA", SIZE, (200, 40, 90, 255))
    clear.paste((0, 0, 0, 0), (0, 0, SIZE[0] // 2, SIZE[1]))
    steps = [image.new("RGB", SIZE, (25 * i, 250 - 25 * i, 40)) for i in range(FRAMES)]
    found: Dict[str, bytes] = {}

    def write(name: str, picture: Any, kind: str, **options: Any) -> None:
        file = io.BytesIO()
        picture.save(file, kind, **options)
        found[name] = file.getvalue()

    for kind in ("png", "webp", "tiff"):
        write(f"still {kind}", opaque, kind)
        write(f"alpha {kind}", clear, kind)
    write("still jpeg", opaque, "jpeg")
    for name, kind in (("gif", "gif"), ("webp", "webp"), ("apng", "png")):
        options = {"save_all": True, "append_images": steps[1:], "duration": 100}
        write(f"moving {name}", steps[0], kind, **options)
    return found


class FormTests(StageTest):
    def setUp(self) -> None:
        try:
            self.image: Any = importlib.import_module("PIL.Image")
        except ImportError:
            raise unittest.SkipTest("there is no Pillow") from None
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)
        self.urls = {
            name: self.origin.serve("/" + name.replace(" ", "-"), body)
            for name, body in sources().items()
        }

    def seen(self, picture: imgd.Picture) -> Tuple[Tuple[int, int], int, bool]:
        """The size, the frames and whether there is alpha, as others see it."""
        if picture.format in ("avif", "jxl"):
            # Pillow cannot read these: what the daemon reads of them has alpha or not.
            url = self.origin.serve(f"/made-{picture.receipt}", picture.bytes())
            again = self.client.fetch(url, format=("jpeg", "png"), deliver="bytes", cache="no-store")
            size, _, _ = self.seen(again)
            view: Any = self.client.fetch(url, deliver="pixels").pixels().memoryview()
            return size, picture.frames, view[5, 5, 3] < 255
        file = self.image.open(io.BytesIO(picture.bytes()))
        frames = getattr(file, "n_frames", 1)
        return file.size, frames, file.convert("RGBA").getextrema()[3][0] < 255

    def check(self, name: str, picture: imgd.Picture, format: str, frames: int) -> None:
        self.assertEqual(picture.format, format)
        size, seen, alpha = self.seen(picture)
        self.assertEqual((size, picture.size), ((30, 20), (30, 20)))
        self.assertEqual((seen, picture.frames), (frames, frames))
        self.assertEqual(picture.original_frames, FRAMES if "moving" in name else 1)
        self.assertEqual("frames_of" in picture.raw, "moving" in name and frames < FRAMES)
        self.assertEqual(alpha, "alpha" in name and format != "jpeg")

    def test_formats(self) -> None:
        for name, url in self.urls.items():
            for format in FORMATS:
                with self.subTest(name=name, format=format):
                    keeps = "moving" in name and UNREAD not in name and format in MOVING
                    wanted: Any = format
                    picture = self.client.fetch(
                        url, resize=(30, 30), format=wanted, deliver="bytes"
                    )
                    self.check(name, picture, format, FRAMES if keeps else 1)

    def test_all_frames_are_a_demand(self) -> None:
        for name, url in self.urls.items():
            for format in FORMATS:
                with self.subTest(name=name, format=format):
                    options: Dict[str, Any] = {"format": format, "frames": "all"}
                    if "moving" not in name or format in MOVING and UNREAD not in name:
                        picture = self.client.fetch(url, resize=(30, 30), **options)
                        self.assertEqual(picture.frames, picture.original_frames)
                        continue
                    with self.assertRaises(imgd.DecodeFailed) as raised:
                        self.client.fetch(url, resize=(30, 30), **options)
                    self.assertEqual(raised.exception.code, "unsupported_format")

    def test_lists(self) -> None:
        # For a still, for one with alpha, and for a GIF or WebP that moves.
        lists: List[Tuple[Tuple[str, ...], Tuple[str, str, str]]] = [
            (("avif", "webp"), ("avif", "avif", "webp")),
            (("jpeg", "png"), ("jpeg", "png", "jpeg")),
            (("jpg", "webp"), ("jpeg", "webp", "webp")),
            (("jxl", "gif", "png"), ("jxl", "jxl", "gif")),
            (("avif", "original", "jpeg", "png"), ("avif", "avif", "original")),
            (("heic", "tiff", "original"), ("tiff", "tiff", "original")),
        ]
        for name, url in self.urls.items():
            kind, own = name.split()
            for formats, chosen in lists:
                with self.subTest(name=name, formats=formats):
                    wanted: Any = formats
                    picture = self.client.fetch(
                        url, resize=(30, 30), format=wanted, deliver="bytes"
                    )
                    if own == UNREAD:
                        self.check(name, picture, picture.format, 1)
                        self.assertNotEqual(picture.format, "avif")
                        continue
                    alone: Any = chosen[("still", "alpha", "moving").index(kind)]
                    format = own if alone == "original" else alone
                    keeps = kind == "moving" and format in MOVING
                    self.check(name, picture, format, FRAMES if keeps else 1)
                    # One that was asked for alone is the same file.
                    single = self.client.fetch(url, resize=(30, 30), format=alone, deliver="bytes")
                    self.assertEqual(single.source, "memory")
                    self.assertEqual(single.bytes(), picture.bytes())

    def test_what_needs_no_change_keeps_everything(self) -> None:
        for name, url in self.urls.items():
            with self.subTest(name=name):
                picture = self.client.fetch(url, format="original", frames="all", deliver="bytes")
                self.assertEqual(picture.original_frames, picture.frames)
                self.assertEqual(picture.frames, FRAMES if "moving" in name else 1)
