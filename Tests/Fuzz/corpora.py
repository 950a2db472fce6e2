#!/usr/bin/python3
"""The corpora of the tree: a file for each target, a line for each input, which is text with escapes such as %0A.

    corpora.py unpack FILE DIRECTORY    writes a file for each line
    corpora.py pack DIRECTORY FILE      the other way; the smallest inputs first, as many as are kept in the tree
    corpora.py counters MAP FILE        which counters of coverage are whose, from the map of the linker
"""

import hashlib
import pathlib
import re
import sys

MOST_INPUTS = 60
LONGEST = 1024


def escaped(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 < byte < 0x7F and byte != 0x25 else f"%{byte:02X}" for byte in data)


def unescaped(line: str) -> bytes:
    return re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), line.encode("ascii"))


def unpack(file: pathlib.Path, directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for line in file.read_text("ascii").splitlines():
        data = unescaped(line)
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(directory: pathlib.Path, file: pathlib.Path) -> None:
    inputs = sorted({path.read_bytes() for path in directory.iterdir()}, key=lambda data: (len(data), data))
    kept = [data for data in inputs if 0 < len(data) <= LONGEST]
    # Some of every length: the shortest say little, the longest take room.
    chosen = kept if len(kept) <= MOST_INPUTS else [kept[place * len(kept) // MOST_INPUTS] for place in range(MOST_INPUTS)]
    file.write_text("".join(escaped(data) + "\n" for data in chosen), "ascii")


def list_counters(linker_map: pathlib.Path, file: pathlib.Path) -> None:
    rows = re.findall(
        r"^ *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +\d+ +\S*/(\w+)\.build/\S*:\(__sancov_cntrs\)$",
        linker_map.read_text(errors="replace"),
        re.MULTILINE,
    )
    begin = int(rows[0][0], 16)
    parts: list[list] = []
    for place, size, module in rows:
        start, count = int(place, 16) - begin, int(size, 16)
        if parts and parts[-1][0] == module and parts[-1][1] + parts[-1][2] == start:
            parts[-1][2] += count
        else:
            parts.append([module, start, count])
    file.write_text("".join(f"{module} {start} {count}\n" for module, start, count in parts))


def main(command: str, source: str, target: str) -> None:
    {"unpack": unpack, "pack": pack, "counters": list_counters}[command](pathlib.Path(source), pathlib.Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
