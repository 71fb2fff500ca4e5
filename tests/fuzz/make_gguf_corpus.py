#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of gguf_fuzz into a folder: well-formed GGUF files, and one file of each malformed kind."""
import struct
import sys
from pathlib import Path

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
TYPE_F32, TYPE_Q4_0, TYPE_Q8_0, TYPE_Q4_K, TYPE_I8, TYPE_BF16 = 0, 2, 8, 12, 24, 30


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def payload(kind, value):
    return string(value) if kind == STRING else struct.pack("<" + FORMATS[kind], value)


def entry(key, kind, value):
    return string(key) + struct.pack("<I", kind) + payload(kind, value)


def array(key, kind, values, count=None):
    head = struct.pack("<IIQ", ARRAY, kind, len(values) if count is None else count)
    return string(key) + head + b"".join(payload(kind, v) for v in values)


def tensor(name, kind, dims, offset=0, rank=None):
    head = string(name) + struct.pack("<I", len(dims) if rank is None else rank)
    return head + struct.pack(f"<{len(dims)}QIQ", *dims, kind, offset)


def file(entries=(), tensors=(), data=b"", version=3, alignment=32, entry_count=None, tensor_count=None):
    counts = (len(tensors) if tensor_count is None else tensor_count,
              len(entries) if entry_count is None else entry_count)
    header = b"GGUF" + struct.pack("<IQQ", version, *counts) + b"".join(entries) + b"".join(tensors)
    return header + b"\0" * (-len(header) % alignment) + data


def with_tensor(name, kind, dims, offset=0, rank=None):
    return file(tensors=[tensor(name, kind, dims, offset, rank)], data=bytes(64))


def seeds():
    scalars = [entry(f"key {kind}", kind, 1) for kind in FORMATS] + [entry("text", STRING, "a\0b")]
    arrays = [array(f"array {kind}", kind, [0, 1]) for kind in FORMATS]
    arrays += [array("texts", STRING, ["one", "", "three"]), array("empty", STRING, [])]
    tensors = [tensor("matrix", TYPE_Q8_0, [32, 2]), tensor("norm", TYPE_F32, [5], 96),
               tensor("cube", TYPE_BF16, [2, 1, 2, 3], 128), tensor("none", TYPE_Q4_K, [256, 0], 160),
               tensor("scalar", TYPE_I8, [], 160)]
    data = bytes(i % 251 for i in range(161))
    align = entry("general.alignment", U32, 32)
    yield "valid", file(scalars + arrays, tensors, data)
    yield "version_2", file(scalars, tensors, data, version=2)
    yield "one_tensor", file([align], [tensor("w", TYPE_Q8_0, [32, 1])], bytes(34))
    yield "alignment_1", file([entry("general.alignment", U32, 1)], [tensor("w", TYPE_I8, [3])], b"abc", alignment=1)
    yield "split", file([entry("split.count", U16, 6), entry("split.no", U16, 0)])
    yield "bool_2", file([entry("b", BOOL, 2)])

    yield "empty", b""
    yield "other_magic", b"PAR1" + file()[4:]
    for version in (0, 1, 4, 0x03000000):
        yield f"version_{version}", file(scalars, version=version)
    yield "truncated_metadata", file(scalars)[:100]
    yield "truncated_data", file([], tensors, data[:-1])
    yield "tensor_count_huge", file([], tensors, data, tensor_count=2**62)
    yield "entry_count_huge", file(scalars, entry_count=2**62)
    yield "key_empty", file([entry("", U8, 1)])
    yield "key_huge", file([struct.pack("<Q", 2**63) + b"key"])
    yield "key_twice", file([entry("k", U8, 1), entry("k", U8, 1)])
    yield "value_type_13", file([string("k") + struct.pack("<II", 13, 0)])
    yield "string_huge", file([string("k") + struct.pack("<IQ", STRING, 2**64 - 1)])
    yield "array_huge", file([array("k", U8, [], 2**62)])
    yield "array_long", file([array("k", STRING, ["a"], 1000)])
    yield "array_nested", file([string("k") + struct.pack("<IIQ", ARRAY, ARRAY, 0)])
    for alignment in (0, 3, 2**31):
        yield f"alignment_{alignment}", file([entry("general.alignment", U32, alignment)], tensors, data)
    yield "alignment_i32", file([entry("general.alignment", I32, 32)], tensors, data)
    yield "split_negative", file([entry("split.count", I32, -1)])
    for rank in (5, 9, 2**32 - 1):
        yield f"rank_{rank}", with_tensor("w", TYPE_I8, [1] * 9, rank=rank)
    yield "name_64", with_tensor("n" * 64, TYPE_I8, [1])
    yield "name_twice", file([], [tensor("w", TYPE_I8, [1]), tensor("w", TYPE_I8, [1], 32)], bytes(64))
    for kind in (4, 31, 36, 43, 2**32 - 1):
        yield f"type_{kind}", with_tensor("w", kind, [256])
    yield "offset_early", file([], [tensor("a", TYPE_I8, [5]), tensor("b", TYPE_I8, [5], 0)], bytes(64))
    yield "offset_late", with_tensor("w", TYPE_I8, [1], offset=32)
    yield "row_of_33", with_tensor("w", TYPE_Q8_0, [33])
    yield "product_overflow", with_tensor("w", TYPE_I8, [2**63 - 1, 2])
    yield "product_zero", with_tensor("w", TYPE_I8, [2**32, 2**32])
    yield "rows_overflow", with_tensor("w", TYPE_I8, [0, 2**40, 2**40])
    yield "bytes_wrap", with_tensor("w", TYPE_Q4_0, [5124095576030431008])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_gguf_corpus.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
