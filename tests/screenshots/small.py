"""Makes pictures smaller: the 256 commonest colours as a palette, packed as tightly as zlib can.

A page has a few hundred colours, nearly all of them on the edges of letters; nobody sees the difference,
and what is left is less than half. Only the standard library. usage: small.py FILE.png...
"""

import collections
import struct
import sys
import zlib

HEAD = b"\x89PNG\r\n\x1a\n"


def chunks(data):
    at = len(HEAD)
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length


def unfiltered(raw, stride, step):
    before = bytearray(stride)
    for at in range(0, len(raw), stride + 1):
        kind, line = raw[at], bytearray(raw[at + 1 : at + 1 + stride])
        for i in range(stride if kind else 0):
            left = line[i - step] if i >= step else 0
            up = before[i]
            if kind == 1:
                line[i] = (line[i] + left) & 255
            elif kind == 2:
                line[i] = (line[i] + up) & 255
            elif kind == 3:
                line[i] = (line[i] + (left + up) // 2) & 255
            else:
                corner = before[i - step] if i >= step else 0
                guess = left + up - corner
                distances = (abs(guess - left), abs(guess - up), abs(guess - corner))
                line[i] = (line[i] + (left, up, corner)[distances.index(min(distances))]) & 255
        yield line
        before = line


def small(data):
    parts = list(chunks(data))
    wide, high, depth, kind = struct.unpack(">IIBB", parts[0][1][:10])
    if depth != 8 or kind not in (2, 6):
        return data
    step = 3 if kind == 2 else 4
    raw = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    lines = [
        [bytes(line[i : i + 3]) for i in range(0, wide * step, step)]
        for line in unfiltered(raw, wide * step, step)
    ]
    counts = collections.Counter(colour for line in lines for colour in line)
    palette = [colour for colour, _ in counts.most_common(256)]
    place = {colour: index for index, colour in enumerate(palette)}
    for colour in counts:
        if colour not in place:
            far = [sum((a - b) ** 2 for a, b in zip(colour, known)) for known in palette]
            place[colour] = far.index(min(far))
    packed = b"".join(b"\0" + bytes(place[colour] for colour in line) for line in lines)
    head = struct.pack(">IIBBBBB", wide, high, 8, 3, 0, 0, 0)
    out = HEAD
    for name, body in [
        (b"IHDR", head),
        (b"PLTE", b"".join(palette)),
        (b"IDAT", zlib.compress(packed, 9)),
        (b"IEND", b""),
    ]:
        out += struct.pack(">I", len(body)) + name + body
        out += struct.pack(">I", zlib.crc32(name + body))
    return out if len(out) < len(data) else data


for path in sys.argv[1:]:
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(small(data))
