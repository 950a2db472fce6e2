"""Files in memory. `mmap.mmap` keeps a descriptor for each; this does not."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Union

from .errors import Error

#: Up to this size a copy costs less than a mapping and the faults of its pages.
LARGEST_READ = 256 * 1024

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value


def contents(descriptor: int) -> Union[bytes, memoryview]:
    """All of a file: read, or mapped if it is large. The descriptor may be closed."""
    length = os.lseek(descriptor, 0, os.SEEK_END)
    if length == 0:
        raise Error("the picture is empty")
    if length <= LARGEST_READ:
        data = os.pread(descriptor, length, 0)
        if len(data) == length:
            return data
    return _mapped(descriptor, length)


def _mapped(descriptor: int, length: int) -> memoryview:
    address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address is None or address == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, f"the picture cannot be mapped: {os.strerror(number)}")
    array = (ctypes.c_ubyte * length).from_address(address)
    # A view may still be in use when the interpreter ends.
    weakref.finalize(array, _libc.munmap, address, length).atexit = False
    return memoryview(array).cast("B").toreadonly()
