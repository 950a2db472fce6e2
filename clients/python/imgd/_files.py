"""Pictures that the program itself has, as the daemon gets them: by a descriptor."""

from __future__ import annotations

import errno
import os
from typing import Optional, Protocol, Tuple, Union

from ._descriptor import Descriptor
from .errors import NoDescriptor, NotReadable, no_descriptor


class _HasDescriptor(Protocol):
    def fileno(self) -> int: ...


#: A path, which is no `str`, as that is a URL; an open file or another object with `fileno`; or bytes.
File = Union["os.PathLike[str]", _HasDescriptor, bytes, bytearray, memoryview]


def opened(file: File) -> Descriptor:
    """A descriptor of its own for the file, which the daemon reads from its beginning."""
    try:
        if isinstance(file, (bytes, bytearray, memoryview)):
            return in_memory(file)
        if isinstance(file, os.PathLike):
            # What is no file is refused by the daemon, and must not be waited for here.
            return Descriptor(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
        buffer = getattr(file, "getbuffer", None)
        if buffer is not None:
            return in_memory(buffer())
        if hasattr(file, "fileno"):
            return Descriptor(os.dup(file.fileno()))
    except OSError as error:
        raise no_descriptor() if error.errno == errno.EMFILE else error
    raise TypeError(
        f"a URL is a str, and a picture a path, a file or bytes, not {type(file).__name__}: {file!r}"
    )


def in_memory(content: Union[bytes, bytearray, memoryview]) -> Descriptor:
    """A file in memory with this content."""
    descriptor = Descriptor(os.memfd_create("imgd", os.MFD_CLOEXEC))
    with open(descriptor.fileno(), "wb", closefd=False) as memory:
        memory.write(content)
    return descriptor


def name(subject: Union[str, File]) -> str:
    """What it is called in an Outcome: the URL, the path, or the name of the file."""
    if isinstance(subject, str):
        return subject
    if isinstance(subject, os.PathLike):
        return os.fsdecode(subject)
    return str(getattr(subject, "name", "fd:"))


def separated(subject: Union[str, File]) -> Tuple[str, Optional[Descriptor]]:
    """The URL of a request, and the file that goes with it; raises NotReadable if it cannot be opened."""
    if isinstance(subject, str):
        return subject, None
    try:
        return "fd:", opened(subject)
    except NoDescriptor:
        raise
    except (OSError, ValueError) as error:
        # A ValueError is what Python says of a closed file, and of a path with a NUL. The frames of its
        # traceback would hold other files open.
        reason = error.with_traceback(None)
        raise NotReadable("not_readable", str(error), url=name(subject)) from reason
