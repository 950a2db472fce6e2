"""Pictures from imgd, the image downloader and image cache of this machine.

    import imgd

    with imgd.Client() as client:
        picture = client.fetch("https://example.org/cat.jpg", resize=(256, 256))
        print(picture.path, picture.width, picture.height)

`imgd.aio` has the same client for asyncio.
"""

from .client import Client, Outcome, Subscription
from .errors import (
    Blocked,
    Busy,
    Cancelled,
    ConnectionFailed,
    ConnectionLost,
    DecodeFailed,
    Error,
    FetchError,
    HTTPError,
    NoDescriptor,
    NotAPicture,
    NotCached,
    NotReadable,
    PictureGone,
    RequestError,
    TimedOut,
    TooLarge,
    UnknownReceipt,
    Unreachable,
)
from .picture import Picture, Pixels
from ._conversation import Progress

__version__ = "0.1.0"

__all__ = [
    "Blocked",
    "Busy",
    "Cancelled",
    "Client",
    "ConnectionFailed",
    "ConnectionLost",
    "DecodeFailed",
    "Error",
    "FetchError",
    "HTTPError",
    "NoDescriptor",
    "NotAPicture",
    "NotCached",
    "NotReadable",
    "Outcome",
    "Picture",
    "PictureGone",
    "Pixels",
    "Progress",
    "RequestError",
    "Subscription",
    "TimedOut",
    "TooLarge",
    "UnknownReceipt",
    "Unreachable",
]
