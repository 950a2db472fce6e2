"""Owners of descriptors."""

from __future__ import annotations

import os


class Descriptor:
    """A file descriptor that is closed with the object at the latest; -1 is none."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """The number, -1 if it is closed."""
        return self._number

    def close(self) -> None:
        """Closes it; a second time nothing happens."""
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    def __enter__(self) -> Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
