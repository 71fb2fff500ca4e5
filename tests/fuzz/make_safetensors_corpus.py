#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of safetensors_fuzz into a folder: well-formed files, and one file of each malformed kind."""
import json
import struct
import sys
from pathlib import Path

TYPES = {"BOOL": 8, "U8": 8, "I8": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32, "I64": 64, "U64": 64, "F16": 16,
         "BF16": 16, "F32": 32, "F64": 64, "C64": 64, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
         "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}


def file(header, data=b"", size=None):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def with_tensor(text, data=bytes(8)):
    """The fields of tensor "w" as they are."""
    return file(b'{"w":{' + text.encode() + b"}}", data)


def all_types():
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, bits in TYPES.items():
        header[name] = entry(name, [2, 4], offset, offset + bits)
        offset += bits
    return file(header, bytes(i % 251 for i in range(offset)))


def seeds():
    w = entry("F32", [2], 0, 8)
    yield "smallest", file({})
    yield "worked_example", file(json.dumps({"w": w}, separators=(",", ":")).encode() + b"  ", bytes(8))
    yield "unaligned", file({"w": w}, bytes(8))
    yield "all_types", all_types()
    yield "empty_and_scalar", file({"e": entry("F32", [0, 7], 0, 0), "s": entry("I16", [], 0, 2)}, b"\1\2")
    yield "escapes", file(rb'{"__metadata__":{"\u00e9":"\n"},"a\"":{"x":[{}],"dtype":"U8","shape":[0],"data_offsets":[0,0]}}')
    yield "reversed", file({"a": entry("U8", [1], 2, 3), "b": entry("U8", [2], 0, 2)}, b"123")
    yield "header_alone", json.dumps({"w": entry("U8", [0], 0, 0)}).encode()

    yield "empty", b""
    for size in (0, 7, 2**63, 2**64 - 1, 100_000_001):
        yield f"header_of_{size}", file(b"{}", size=size)
    yield "not_json", file(b"{hello}")
    yield "not_object", file(b"[]")
    yield "nul", file(b"{}\0\0")
    yield "invalid_utf8", file(b'{"\xff":1}')
    yield "deep", file(b'{"w":' + b"[" * 2000 + b"]" * 2000 + b"}")
    for name, offsets in {"none": "", "one": "0", "three": "0,8,9", "reversed": "8,0", "negative": "-8,0", "float": "0,8.0",
                          "exponent": "0,1e3", "infinite": "0,1e400", "huge": "0,18446744073709551615"}.items():
        yield f"offsets_{name}", with_tensor(f'"dtype":"F32","shape":[2],"data_offsets":[{offsets}]')
    yield "product_wraps", with_tensor('"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]')
    yield "span_short", with_tensor('"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]')
    yield "span_long", with_tensor('"dtype":"F32","shape":[1],"data_offsets":[0,8]')
    yield "half_byte", with_tensor('"dtype":"F4","shape":[3],"data_offsets":[0,2]', bytes(2))
    yield "dtype_unknown", with_tensor('"dtype":"F33","shape":[2],"data_offsets":[0,8]')
    yield "same_span", file({"a": w, "b": w}, bytes(8))
    yield "gap", file({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, bytes(3))
    yield "trailing", file({"w": w}, bytes(9))
    yield "truncated", file({"w": w}, bytes(7))
    yield "name_twice", file(b'{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}')
    yield "metadata_number", file({"__metadata__": {"a": 1}})


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_safetensors_corpus.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
