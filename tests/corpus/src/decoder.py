"""Decode the radio frames of Serrach stations (frame formats 4 and 5).

A frame is at most 51 bytes, big-endian:

    offset  size  field
    0       1     format (4 or 5)
    1       1     model (1 Dipper, 2 Chough, 4 Ptarmigan)
    2       2     sequence number, wraps at 65536
    4       4     time, seconds since 2020-01-01 UTC
    8       ...   fields: one tag byte and its value, until the checksum
    n-2     2     CRC-16/CCITT-FALSE of everything before

Format 4 carries snow depth in millimetres (two bytes), format 5 in whole centimetres with the
quality flag in the upper bits of the same two bytes.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
MODELS = {1: "SRC-110", 2: "SRC-200", 4: "SRC-400"}
FLAGS = "GSHM"  # good, suspect, held, missing
MAX_FRAME = 51


class FrameError(ValueError):
    """Say why a frame cannot be decoded; it goes to quarantine with this message."""


@dataclass(frozen=True)
class Scale:
    """How a two-byte field becomes a number: name, factor, offset, unit."""

    name: str
    factor: float
    offset: float = 0.0
    unit: str = ""

    def apply(self, raw: int) -> float:
        return round(raw * self.factor + self.offset, 3)


SCALES = {
    0x01: Scale("t", 0.01, -100.0, "degC"),
    0x02: Scale("rh", 0.1, 0.0, "%"),
    0x03: Scale("p", 0.02, 300.0, "hPa"),
    0x04: Scale("ff", 0.1, 0.0, "m/s"),
    0x05: Scale("fx", 0.1, 0.0, "m/s"),
    0x06: Scale("dd", 1.0, 0.0, "deg"),
    0x08: Scale("ts", 0.01, -100.0, "degC"),
    0x09: Scale("level", 1.0, 0.0, "mm"),
    0x0A: Scale("rain", 0.1, 0.0, "mm"),
    0x0F: Scale("battery", 0.01, 0.0, "V"),
}
SNOW, ERROR = 0x07, 0x1E


@dataclass
class Reading:
    """One decoded frame; `values` has None where the flag is M."""

    model: str
    sequence: int
    time: str
    values: dict[str, float | None] = field(default_factory=dict)
    quality: dict[str, str] = field(default_factory=dict)
    error: str | None = None


def crc16(data: bytes) -> int:
    """Return CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF)."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def fields(body: bytes) -> Iterator[tuple[int, int]]:
    """Yield (tag, raw value) pairs; every value has two bytes."""
    if len(body) % 3:
        raise FrameError(f"body must be a multiple of 3 bytes, got {len(body)}")
    for position in range(0, len(body), 3):
        yield struct.unpack_from(">BH", body, position)


def snow_depth(raw: int, frame_format: int) -> tuple[float | None, str]:
    """Return depth in centimetres and its quality flag."""
    if frame_format == 4:
        return round(raw / 10, 1), "G"
    flag = FLAGS[raw >> 14]
    return (None if flag == "M" else float(raw & 0x3FFF)), flag


def decode(frame: bytes) -> Reading:
    """Decode one frame, or raise FrameError saying what is wrong with it."""
    if not 10 <= len(frame) <= MAX_FRAME:
        raise FrameError(f"frame must have 10 to {MAX_FRAME} bytes, got {len(frame)}")
    expected, = struct.unpack(">H", frame[-2:])
    if crc16(frame[:-2]) != expected:
        raise FrameError(f"checksum 0x{expected:04x} does not fit; expected 0x{crc16(frame[:-2]):04x}")
    frame_format, model, sequence, seconds = struct.unpack(">BBHI", frame[:8])
    if frame_format not in (4, 5):
        raise FrameError(f"unknown frame format {frame_format}; the Siskin's formats ended with firmware 3.0")
    if model not in MODELS:
        raise FrameError(f"unknown model {model}")
    time = (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    reading = Reading(MODELS[model], sequence, time)
    for tag, raw in fields(frame[8:-2]):
        if tag == SNOW:
            reading.values["hs"], reading.quality["hs"] = snow_depth(raw, frame_format)
        elif tag == ERROR:
            reading.error = f"E{raw:02d}"
        elif tag in SCALES:
            scale = SCALES[tag]
            reading.values[scale.name], reading.quality[scale.name] = scale.apply(raw), "G"
        # A tag of a newer firmware is skipped: old decoders must not choke on new probes.
    return reading


def main() -> int:
    """Read frames in hex, one a line, and print readings as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--strict", action="store_true", help="stop at the first bad frame")
    options = parser.parse_args()
    bad = 0
    for number, line in enumerate(sys.stdin, 1):
        try:
            print(json.dumps(asdict(decode(bytes.fromhex(line.strip().removeprefix("0x"))))))
        except ValueError as error:
            bad += 1
            print(f"line {number}: {error}", file=sys.stderr)
            if options.strict:
                break
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
