"""A picture that was fetched, and its pixels."""

from __future__ import annotations

import builtins
import errno
import io
import os
from typing import Any, BinaryIO, Dict, Optional, Tuple, Type, TypeVar, Union

from ._conversation import Answer
from ._descriptor import Descriptor
from ._files import opened
from ._memory import contents
from .errors import Error, PictureGone, no_descriptor

Value = TypeVar("Value")


class Pixels:
    """Decoded pixels: upright, in sRGB, read-only. All who asked share the memory of large ones.

    Four bytes for each pixel, as `layout` says: `rgba8` is red, green, blue and alpha, which is not
    multiplied in; `bgra8-premultiplied` is blue, green, red and alpha, which is.
    `numpy.asarray(pixels)` is an array of (height, width, 4) over the same memory. These are about the
    first of several `frames`; `frame(n)` has the others.
    """

    def __init__(
        self,
        buffer: builtins.memoryview,
        width: int,
        height: int,
        stride: int,
        layout: str = "rgba8",
        delays: Tuple[int, ...] = (),
    ) -> None:
        whole = stride * height * max(1, len(delays))
        if width < 1 or height < 1 or stride < width * 4 or len(buffer) < whole:
            size = f"{width} × {height} pixels with a stride of {stride}"
            raise Error(f"{size} are not in {len(buffer)} bytes")
        #: All rows from top to bottom, each `stride` bytes long, frame after frame.
        self.buffer = buffer
        #: The order of the bytes, and whether alpha is multiplied in.
        self.layout = layout
        #: How long each frame of several is shown, in milliseconds.
        self.delays = delays
        self.width = width
        self.height = height
        self.stride = stride

    @property
    def size(self) -> Tuple[int, int]:
        """Width and height, as Pillow has it."""
        return self.width, self.height

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return max(1, len(self.delays))

    def frame(self, number: int) -> Pixels:
        """One of the frames, from 0 on, over the same memory."""
        if not 0 <= number < self.frames:
            raise IndexError(f"there is no frame {number} of {self.frames}")
        size = self.stride * self.height
        rows = self.buffer[number * size : (number + 1) * size]
        return Pixels(rows, self.width, self.height, self.stride, self.layout)

    def memoryview(self) -> builtins.memoryview:
        """The pixels in three dimensions: row, column, and the part of the colour."""
        if self.stride != self.width * 4:
            raise Error("rows with a gap between them have no such view: use `buffer`")
        whole = self.buffer[: self.stride * self.height]
        return whole.cast("B", (self.height, self.width, 4))

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        return {
            "version": 3,
            "typestr": "|u1",
            "shape": (self.height, self.width, 4),
            "strides": (self.stride, 4, 1),
            "data": self.buffer,
        }

    def __repr__(self) -> str:
        return f"<imgd.Pixels {self.width} × {self.height}>"


class Picture:
    """A picture as the daemon delivered it.

    A picture that was delivered as a path is a file in the cache. It stays for at least half a
    minute, even if the cache drops it. `bytes()` opens it on the first use: after that it stays
    readable through this object. For the bytes of a picture that has no file, or that is kept for
    longer before it is read, fetch it with `deliver="bytes"`.

    One that was delivered as bytes or pixels is in memory, read or mapped, and holds no descriptor.
    `close()`, the end of a `with` block, or the end of the object lets go of it; views that were
    taken stay valid.

    `open(picture)`, `PIL.Image.open(picture)` and all else that takes the path of a file or a file
    to read take every picture that was delivered; so does `bytes(picture)`.
    """

    def __init__(self, answer: Union[Answer, Dict[str, Any]]) -> None:
        self._answer = answer if isinstance(answer, Answer) else Answer(True, fields=answer)
        self._closed = False
        # What was delivered, once it is in memory.
        self._content: Union[None, builtins.bytes, builtins.memoryview] = None
        self._descriptor: Optional[Descriptor] = None
        # What `read` reads.
        self._file: Optional[BinaryIO] = None
        if self._answer.descriptor is not None:
            with self._answer.descriptor as descriptor:
                self._content = contents(descriptor.fileno())

    @property
    def raw(self) -> Dict[str, Any]:
        """The daemon's answer, as docs/protocol.md describes it."""
        return self._answer.fields

    @property
    def url(self) -> str:
        """The URL as it was asked for."""
        return self._field("url", str) or ""

    @property
    def final_url(self) -> str:
        """The URL at the end of all redirects."""
        return self._field("final_url", str) or self.url

    @property
    def receipt(self) -> str:
        """The handle of the fetch."""
        return self._field("receipt", str) or ""

    @property
    def path(self) -> Optional[str]:
        """The file in the cache; None if it was not asked for, or if there is none."""
        path = self._answer.path
        return path if isinstance(path, str) else None

    @property
    def width(self) -> int:
        """In pixels, as delivered: before `orientation` is applied."""
        return self._field("width", int) or 0

    @property
    def height(self) -> int:
        """In pixels, as delivered: before `orientation` is applied."""
        return self._field("height", int) or 0

    @property
    def size(self) -> Tuple[int, int]:
        """Width and height."""
        return self.width, self.height

    @property
    def orientation(self) -> int:
        """The Exif orientation, from 1 (upright) to 8."""
        return self._field("orientation", int) or 1

    @property
    def frames(self) -> int:
        """How many frames an animation has; 1 if it is none."""
        return self._field("frames", int) or 1

    @property
    def original_frames(self) -> int:
        """How many frames there were before another form lost some."""
        return self._field("frames_of", int) or self.frames

    @property
    def bytes_count(self) -> int:
        """The size of what was delivered, in bytes."""
        return self._field("bytes", int) or 0

    @property
    def format(self) -> str:
        """Such as `jpeg`, by the picture's bytes and not by what the origin says."""
        return self._field("format", str) or ""

    @property
    def type(self) -> str:
        """Such as `image/jpeg`."""
        return self._field("type", str) or ""

    @property
    def source(self) -> str:
        """From where it came: `memory`, `disk`, `fleet`, `network` or `revalidated`."""
        return self._field("source", str) or ""

    @property
    def not_modified(self) -> bool:
        """Whether the condition in `headers` holds: the program has the picture, and none came."""
        return self.raw.get("not_modified") is True

    @property
    def offline(self) -> bool:
        """Whether it is shown stale because no route leads to its origin."""
        return self.raw.get("offline") is True

    @property
    def stale(self) -> bool:
        """Whether it is older than its origin wants it to be shown."""
        return self.raw.get("stale") is True

    @property
    def thumbhash(self) -> Optional[str]:
        """A blurred picture in about 25 bytes of base64, if `describe` was asked for."""
        return self._field("thumbhash", str)

    @property
    def average(self) -> Optional[str]:
        """The mean colour as `#rrggbb` or `#rrggbbaa`, if `describe` was asked for."""
        return self._field("average", str)

    def memoryview(self) -> builtins.memoryview:
        """What was delivered, not copied; a large picture is mapped into memory."""
        return memoryview(self._loaded())

    def bytes(self) -> builtins.bytes:
        """What was delivered."""
        content = self._loaded()
        return content if isinstance(content, builtins.bytes) else content.tobytes()

    def __bytes__(self) -> builtins.bytes:
        return self.bytes()

    def open(self) -> BinaryIO:
        """A file in memory with a copy of what was delivered, for `PIL.Image.open` and the like."""
        return io.BytesIO(self.bytes())

    def read(self, size: int = -1, /) -> builtins.bytes:
        """What was delivered, from where the last call ended."""
        return self._reader().read(size)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Has `read` go on elsewhere, as that of a file does."""
        return self._reader().seek(offset, whence)

    def tell(self) -> int:
        """Where `read` goes on."""
        return self._reader().tell()

    def __fspath__(self) -> str:
        # In memory it has a name that leads there in this process alone, as long as the picture is open.
        return self.path or f"/proc/self/fd/{self.fileno()}"

    def pixels(self) -> Pixels:
        """The pixels, not copied, of a picture that was fetched with `deliver="pixels"`."""
        listed = self.raw.get("fds")
        facts = listed[0] if isinstance(listed, list) and listed else None
        if not isinstance(facts, dict) or facts.get("kind") != "pixels":
            raise Error('this picture is encoded: fetch it with deliver="pixels"')
        layout = facts.get("format")
        if layout not in ("rgba8", "bgra8-premultiplied"):
            raise Error(f"these pixels have a format that this package does not know: {facts}")
        delays = facts.get("delays_ms", [])
        if not isinstance(delays, list) or not all(isinstance(n, int) for n in delays):
            raise Error(f"these pixels have frames that make no sense: {facts}")
        numbers = [facts.get(name) for name in ("width", "height", "stride")]
        width, height, stride = (n if isinstance(n, int) else 0 for n in numbers)
        return Pixels(self.memoryview(), width, height, stride, layout, tuple(delays))

    def fileno(self) -> int:
        """A descriptor of a file with what was delivered, which it keeps; of a copy where it has no path.

        Its file offset is not to be relied on.
        """
        self._check_is_open()
        if self._descriptor is None:
            self._descriptor = self._open() if self._content is None else self._copied()
        return self._descriptor.fileno()

    def close(self) -> None:
        """Lets go of what was delivered; views that were taken stay valid."""
        self._closed = True
        self._file = None
        if self._descriptor is not None:
            self._descriptor.close()
        # It ends with the last view of it.
        self._content = None

    def _reader(self) -> BinaryIO:
        self._check_is_open()
        if self._file is None:
            self._file = self.open()
        return self._file

    def _loaded(self) -> Union[builtins.bytes, builtins.memoryview]:
        self._check_is_open()
        if self._content is None:
            with self._open() as descriptor:
                self._content = contents(descriptor.fileno())
        return self._content

    def _check_is_open(self) -> None:
        if self._closed:
            raise ValueError("the picture is closed")

    def _why_no_file(self) -> str:
        note = self.raw.get("deliver_note") or "a path was not asked for"
        return f"{self.url} has no file: {note}"

    def _copied(self) -> Descriptor:
        descriptor = opened(self.memoryview())
        os.lseek(descriptor.fileno(), 0, os.SEEK_SET)
        return descriptor

    def _open(self) -> Descriptor:
        path = self.path
        if self.not_modified:
            raise PictureGone(f"{self.url} is not modified: no picture came for this condition")
        if path is None:
            raise PictureGone(f'{self._why_no_file()}. Fetch it with deliver="bytes"')
        try:
            return Descriptor(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY))
        except OSError as error:
            if error.errno == errno.EMFILE:
                raise no_descriptor() from None
            reason = f"the file of {self.url} cannot be opened: {error}"
            raise PictureGone(f'{reason}. Fetch it with deliver="bytes"') from None

    def _field(self, name: str, kind: Type[Value]) -> Optional[Value]:
        value = self.raw.get(name)
        return value if isinstance(value, kind) else None

    def __enter__(self) -> Picture:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        # The number of a descriptor means another file in another process.
        if self.path is None:
            raise TypeError("only a picture that was delivered as a path can be pickled")
        return Picture, (self.raw,)

    def __repr__(self) -> str:
        return f"<imgd.Picture {self.url} {self.format} {self.width} × {self.height}>"


def delivered(answer: Answer) -> Picture:
    """The picture of an answer that is `ok`."""
    return Picture(answer)
