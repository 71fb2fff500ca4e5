#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares edgeq's safetensors files with those of the Python package safetensors, bit for bit.

The package writes tensors of all types and odd shapes; edgeq must read the same bytes, and the file that it writes of
them must be the package's own, byte for byte, and be read by it. So must files that the package does not write:
unaligned ones, other orders, the 6-bit types, shards. Skips (exit code 77) without the packages safetensors, numpy and
ml_dtypes.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import ml_dtypes
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

NUMPY_TYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
               "float64", "complex64"]
ML_TYPES = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
SHAPES = [(), (1,), (3,), (0, 5), (2, 3, 5), (7, 1), (1, 1, 1, 1, 1), (129,)]
METADATA = {"format": "\"pt\"\n\t\\ \x01 é"}


def arrays():
    """An array of each type and shape, of random bits, that the installed package writes."""
    random = numpy.random.default_rng(1)
    left_out = []
    result = {}
    for name in NUMPY_TYPES + ML_TYPES:
        dtype = numpy.dtype(getattr(ml_dtypes, name, name))
        try:
            safetensors.numpy.save({"w": numpy.zeros(1, dtype)})
        except Exception:  # older versions know fewer types
            left_out.append(name)
            continue
        for shape in SHAPES:
            size = int(numpy.prod(shape)) * dtype.itemsize
            bits = random.integers(0, 2 if name == "bool" else 256, size, dtype=numpy.uint8)
            result[f"é\"\n{name}{list(shape)}"] = bits.view(dtype).reshape(shape)
    if left_out:
        print("not written by this version of safetensors:", ", ".join(left_out))
    return result


def crafted(tensors, padding=0):
    """A file of (name, dtype, shape, data) in this order, whose header is padded with this many spaces."""
    header, offset = {}, 0
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode() + b" " * padding
    return struct.pack("<Q", len(text)) + text + b"".join(data for *_, data in tensors)


def contents(file):
    """What the package reads: {name: (dtype, shape, data)}."""
    return {name: (t["dtype"], list(t["shape"]), bytes(t["data"])) for name, t in safetensors.deserialize(file)}


class Checker:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.failures = 0

    def expect(self, condition, what):
        if not condition:
            print("FAILED:", what)
            self.failures += 1

    def copy(self, source):
        """What edgeq reads, and the file that it writes of it."""
        target = self.folder / "copy.safetensors"
        output = subprocess.run([self.program, source, target], check=True, capture_output=True, text=True).stdout
        tensors = {}
        for line in output.splitlines():
            dtype, shape, data, name = line.split(",")
            extents = [int(extent) for extent in shape.split("x")] if shape else []
            tensors[bytes.fromhex(name).decode()] = (dtype, extents, bytes.fromhex(data))
        return tensors, target.read_bytes()

    def check(self, what, file, is_canonical):
        source = self.folder / "source.safetensors"
        source.write_bytes(file)
        read, written = self.copy(source)
        expected = contents(file)
        self.expect(read == expected, f"{what}: edgeq reads what the package reads")
        self.expect(contents(written) == expected, f"{what}: the package reads what edgeq writes")
        if is_canonical:
            self.expect(written == file, f"{what}: edgeq writes the package's bytes")
        print(f"{what}: {len(expected)} tensors, {len(file)} bytes")

    def check_shards(self, tensors):
        """Two files and an index that takes half of the tensors from each, where the other one has zeros."""
        names = sorted(tensors)
        index = {name: f"{i % 2}.safetensors" for i, name in enumerate(names)}
        for shard in ("0.safetensors", "1.safetensors"):
            held = {name: tensors[name] if index[name] == shard else numpy.zeros_like(tensors[name]) for name in names}
            safetensors.numpy.save_file(held, self.folder / shard)
        path = self.folder / "model.safetensors.index.json"
        path.write_text(json.dumps({"metadata": {}, "weight_map": index}))
        self.expect(self.copy(path)[0] == contents(safetensors.numpy.save(tensors)), "shards: the index decides")
        print(f"shards: {len(names)} tensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="copy_safetensors")
    options = parser.parse_args()
    tensors = arrays()
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(options.program, pathlib.Path(folder))
        checker.check("all types", safetensors.numpy.save(tensors, METADATA), is_canonical=True)
        checker.check("no tensor", safetensors.numpy.save({}), is_canonical=True)
        small = [("f4", "F4", [2, 3], b"\x12\x34\x56"), ("e2m3", "F6_E2M3", [4], b"\1\2\3"),
                 ("e3m2", "F6_E3M2", [2, 2, 3], bytes(range(9)))]
        odd = [("codes", "U8", [3], b"\1\2\3"), ("scales", "F16", [2], b"\0\x3c\0\x38"), ("none", "F64", [0], b"")]
        for padding in range(8):
            checker.check(f"small types, padded by {padding}", crafted(small, padding), is_canonical=False)
            checker.check(f"odd addresses, padded by {padding}", crafted(odd, padding), is_canonical=False)
        checker.check_shards(tensors)
    if checker.failures:
        sys.exit(f"{checker.failures} failures")


if __name__ == "__main__":
    main()
