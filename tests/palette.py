"""A picture in a hundred colours: a PNG a third as long, which looks the same."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
MOST: Final = 96
_CHANNELS: Final = {2: 3, 6: 4}
"""By a PNG's kind of colours: red, green, blue; the same, and how opaque."""

Colour: TypeAlias = tuple[int, int, int]
Counted: TypeAlias = list[tuple[Colour, int]]
"""Colours, and how many pixels have each."""


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each chunk of a PNG, its kind and its data; those that are whole, where it is cut or no PNG."""
    at = len(SIGNATURE) if png.startswith(SIGNATURE) else len(png)
    while at + 12 <= len(png):
        (length,) = struct.unpack_from(">I", png, at)
        data = png[at + 8 : at + 8 + length]
        if len(data) == length:
            yield png[at + 4 : at + 8], data
        at += 12 + length


def chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def in_few_colours(png: bytes) -> bytes:
    """The picture of *png*, which a browser drew, its colours the nearest of those that matter most.

    Exactly the same one where it has no more; nothing but the picture is kept.
    """
    width, height, rows = _pixels(png)
    counted = Counter(colour for row in rows for colour in row)
    palette, place = _palette(list(counted.items()))
    lines = b"".join(b"\0" + bytes([place[colour] for colour in row]) for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    colours = bytes(value for colour in palette for value in colour)
    made = (chunk(b"IHDR", header), chunk(b"PLTE", colours), chunk(b"IDAT", zlib.compress(lines, 9)))
    return SIGNATURE + b"".join(made) + chunk(b"IEND", b"")


# ── which colours ────────────────────────────────────────────────────────────────────────────


def _palette(counted: Counted) -> tuple[Sequence[Colour], dict[Colour, int]]:
    """The colours of a picture, and the place of each that it had: boxes of them, the widest halved first."""
    boxes: list[Counted] = [counted]
    while len(boxes) < min(MOST, len(counted)):
        widest = max(boxes, key=_weight)
        boxes.remove(widest)
        boxes += _halves(widest)
    palette = [max(box, key=lambda one: one[1])[0] for box in boxes]
    return palette, {colour: n for n, box in enumerate(boxes) for colour, _ in box}


def _range(box: Counted) -> tuple[int, int]:
    """How far the colours of *box* are apart, and in which of the three values."""
    ends = [(max(values) - min(values), n) for n, values in enumerate(zip(*(c for c, _ in box), strict=True))]
    return max(ends)


def _weight(box: Counted) -> float:
    """What it is worth to halve *box*: far apart counts, and a little how much of the picture it is."""
    return _range(box)[0] * float(sum(n for _, n in box)) ** 0.25 if len(box) > 1 else -1.0


def _halves(box: Counted) -> tuple[Counted, Counted]:
    """By the middle of where its colours are farthest apart; neither is empty."""
    _, by = _range(box)
    values = [colour[by] for colour, _ in box]
    middle = (min(values) + max(values)) / 2
    return [one for one in box if one[0][by] <= middle], [one for one in box if one[0][by] > middle]


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def _pixels(png: bytes) -> tuple[int, int, list[list[Colour]]]:
    """Width, height and the rows of a picture; how opaque it is does not count."""
    parts = list(chunks(png))
    width, height, depth, kind = struct.unpack(">IIBB", parts[0][1][:10])
    if depth != 8 or kind not in _CHANNELS:
        raise ValueError("not a picture as a browser draws it")
    step = _CHANNELS[kind]
    packed = zlib.decompress(b"".join(data for name, data in parts if name == b"IDAT"))
    rows, above, length = [], bytes(width * step), width * step + 1
    for at in range(0, height * length, length):
        above = _unfiltered(packed[at], packed[at + 1 : at + length], above, step)
        rows.append(list(zip(above[0::step], above[1::step], above[2::step], strict=True)))
    return width, height, rows


def _unfiltered(how: int, line: bytes, above: bytes, step: int) -> bytes:
    """A row of bytes that is stored as what differs from those before and above (RFC 2083, 6)."""
    if how == 0:
        return line
    if how == 2:
        return bytes([(one + up) & 255 for one, up in zip(line, above, strict=True)])
    made = bytearray(step) + line  # the first pixel has nothing before it
    corners = bytes(step) + above
    for n, (one, up, corner) in enumerate(zip(line, above, corners, strict=False), step):
        left = made[n - step]
        if how == 1:
            more = left
        elif how == 3:
            more = (left + up) // 2
        else:
            more = up if left == corner else left if up == corner else _paeth(left, up, corner)
        made[n] = (one + more) & 255
    return bytes(made[step:])


def _paeth(left: int, up: int, corner: int) -> int:
    """Whichever is nearest to left + up - corner."""
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))
