#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of packed_fuzz into a folder: packed files of several formats, and one of each malformed kind.

Checksums are zero: the reader does not compare them when it opens a file.
"""
import struct
import sys
from pathlib import Path

MAGIC = b"\x89EQP\r\n\x1a\n"


def padded(size):
    return (size + 63) // 64 * 64


class Entry:
    """A tensor: what the index says of it, and the bytes of its parts. Fields can be overridden."""

    def __init__(self, name, form, layout, n, k, group, data, bias=b"", order=b"", overrides=()):
        self.name, self.form = name.encode(), form.encode()
        self.fields = {"name_size": len(self.name), "format_size": len(self.form), "layout": layout, "reserved": 0,
                       "n": n, "k": k, "group": group, **dict(overrides)}
        self.parts = [data, bias, order]

    def size(self):
        return 96 + (len(self.name) + len(self.form) + 7) // 8 * 8

    def bytes(self, extents):
        f = self.fields
        head = struct.pack("<4I3Q", *(f[key] for key in ("name_size", "format_size", "layout", "reserved", "n", "k", "group")))
        for i, part in enumerate(("data", "bias", "order")):
            head += struct.pack("<2Q", f.get(part + "_offset", extents[i][0]), f.get(part + "_size", extents[i][1]))
        text = head + bytes(8) + self.name + self.form
        return text + bytes(self.size() - len(text))


def file(tensors, **fields):
    index_size = sum(entry.size() for entry in tensors)
    end, index, data = 64 + index_size, b"", {}
    for entry in tensors:
        extents = []
        for part in entry.parts:
            end = padded(end)
            extents.append((end, len(part)))
            data[end] = part
            end += len(part)
        index += entry.bytes(extents)
    values = {"version": 1, "byte_order": 0x01020304, "file_size": end, "index_offset": 64, "index_size": index_size,
              "entries": len(tensors), **fields}
    header = MAGIC + struct.pack("<2I4Q", *(values[key] for key in ("version", "byte_order", "file_size", "index_offset",
                                                                   "index_size", "entries"))) + bytes(16)
    content = bytearray(header + index).ljust(end, b"\0")
    for offset, part in data.items():
        content[offset:offset + len(part)] = part
    return bytes(content)


def pattern(size):
    return bytes((37 * i + 11) % 251 for i in range(size))


def panels(name="w", bias=b"", order=b"", **overrides):
    """int4 sym g* f16, [3, 16] in groups of 8: two groups of 32 + 64 bytes in one record."""
    return Entry(name, "int4 sym g* f16", 1, 3, 16, 8, pattern(2 * 96), bias, order, overrides)


def norm(name="norm.weight", **overrides):
    return Entry(name, "F32", 0, 1, 4, 0, pattern(16), overrides=overrides)


def seeds():
    order = struct.pack("<16I", *reversed(range(16)))
    yield "empty_index", file([])
    yield "both_layouts", file([panels(), norm()])
    yield "bias_and_order", file([panels(bias=pattern(64), order=order)])
    yield "holes_in_order", file([Entry("w", "int4 sym g* f16", 1, 3, 12, 8, pattern(2 * 96),
                                        order=struct.pack("<16I", *range(12), *[0xFFFFFFFF] * 4))])
    yield "floats", file([Entry("w", "bf16", 1, 17, 4, 4, pattern(2 * 2 * 64)), Entry("v", "f32", 1, 1, 3, 3, pattern(192))])
    yield "q4_k", file([Entry("w", "q4_k", 1, 1, 256, 32, pattern(8 * 32 + 32 * 64))])
    yield "q6_k", file([Entry("w", "q6_k", 1, 1, 16, 16, pattern(32 * 18 + 192))])
    yield "fp8", file([Entry("w", "fp8 e4m3 b*x*", 1, 2, 8, 8, pattern(64 + 128))])
    yield "mxfp4", file([Entry("w", "e2m1 sym g32 e8m0", 1, 1, 32, 32, pattern(4 * 16 + 4 * 64))])
    yield "matrix_of_elements", file([Entry("w.weight", "F16", 0, 3, 5, 0, pattern(30))])
    yield "no_elements", file([Entry("w.weight", "F16", 0, 0, 5, 0, b""), Entry("v", "int4 sym g* f16", 1, 5, 0, 1, b"")])

    whole = file([panels(), norm()])
    yield "nothing", b""
    for size in (7, 63, 64, 100, len(whole) - 1):
        yield f"first_{size}_bytes", whole[:size]
    yield "one_byte_more", whole + b"\0"
    yield "interrupted", bytes(64) + whole[64:]
    yield "text_transfer", whole.replace(b"\r\n", b"\n", 1)
    for field, values in {"version": (0, 2), "byte_order": (0x04030201, 0), "file_size": (0, 2**64 - 1),
                          "index_offset": (0, 128), "index_size": (0, 8, 95, 2**63, 2**64 - 1),
                          "entries": (0, 1, 3, 2**63, 2**64 - 1)}.items():
        for value in values:
            yield f"{field}_{value}", file([panels(), norm()], **{field: value})
    for field, values in {"name_size": (0, 4097, 2**32 - 1), "format_size": (0, 257, 2**32 - 1), "layout": (2, 2**32 - 1),
                          "n": (0, 2, 4, 17, 2**40, 2**40 + 1, 2**64 - 1), "k": (0, 15, 17, 2**40, 2**64 - 1),
                          "group": (0, 7, 16, 2**40, 2**64 - 1), "data_offset": (0, 1, 2**63, 2**64 - 64),
                          "data_size": (0, 191, 2**63, 2**64 - 1), "bias_size": (4, 3, 2**64 - 4),
                          "bias_offset": (32, 2**64 - 64), "order_size": (4, 6, 60, 2**64 - 4)}.items():
        for value in values:
            yield f"entry_{field}_{value}", file([panels(**{field: value})])
    for field, values in {"n": (0, 2, 2**40), "k": (0, 3, 5, 2**40), "data_size": (0, 15)}.items():
        for value in values:
            yield f"elements_{field}_{value}", file([norm(**{field: value})])
    yield "no_rows_of_much", file([Entry("w", "int4 sym g* f16", 1, 0, 2**40, 8, b""), Entry("v", "F32", 0, 0, 2**40, 0, b"")])
    yield "many_rows_of_nothing", file([Entry("w", "int4 sym g* f16", 1, 2**40, 0, 8, b""),
                                        Entry("v.weight", "F32", 0, 2**40, 0, 0, b"")])
    yield "unknown_format", file([Entry("w", "int5 sym g* f16", 1, 3, 16, 8, pattern(192))])
    yield "unknown_element", file([Entry("w", "F33", 0, 3, 16, 8, pattern(192))])
    yield "name_twice", file([panels(), panels()])
    yield "module_twice", file([panels(), Entry("w.weight", "F32", 0, 2, 2, 0, pattern(16))])
    yield "name_of_control_characters", file([panels("\n\x1b[2J\0")])
    yield "order_column_twice", file([panels(order=struct.pack("<16I", *[3] * 16))])
    yield "order_column_beyond", file([panels(order=struct.pack("<16I", *range(1, 17)))])
    yield "not_utf8", file([panels()]).replace(b"wint4", b"\xffint4")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_packed_corpus.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
