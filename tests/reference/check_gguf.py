#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares edgeq's decoding of GGUF tensors with that of the Python package gguf, bit for bit.

A file with a tensor of every type that edgeq reads is written by the package. Blocks are random bytes, so every value of
every field occurs, infinite and NaN scales among them; where both say NaN, its bits are not compared. The program
gguf_floats (gguf_floats.cpp) prints what edgeq reads. Exits with 77 where the package is not installed.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77  # CTest's SKIP_RETURN_CODE

try:
    import gguf
    import numpy as np
    from gguf import GGMLQuantizationType as Type
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.Q2_K, Type.Q3_K,
         Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.TQ1_0, Type.TQ2_0, Type.IQ4_NL, Type.IQ4_XS, Type.MXFP4]
ROWS, COLUMNS = 200, 1536


def write_random(path, generator):
    """Writes the file; returns the bytes of each tensor, [rows, bytes of a row]."""
    writer = gguf.GGUFWriter(path, "none")
    tensors = {}
    for kind in TYPES:
        block_elements, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        shape = (ROWS, COLUMNS // block_elements * block_bytes)
        tensors[kind] = generator.integers(0, 256, shape, dtype=np.uint8)
        writer.add_tensor(kind.name, tensors[kind], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors


def differences(found, wanted):
    """How many floats differ in their bits, except for NaNs."""
    bits = found.view(np.uint32) != wanted.view(np.uint32)
    return int(np.count_nonzero(bits & ~(np.isnan(found) & np.isnan(wanted))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="gguf_floats")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "random.gguf"
        tensors = write_random(path, np.random.default_rng(options.seed))
        run = subprocess.run([options.program, str(path)], stdout=subprocess.PIPE, check=True)
    values = np.frombuffer(run.stdout, np.float32).reshape(len(TYPES), ROWS, COLUMNS)
    failed = False
    for kind, found in zip(TYPES, values):
        with np.errstate(all="ignore"):
            wanted = gguf.quants.dequantize(tensors[kind], kind).reshape(ROWS, COLUMNS)
        if kind is Type.MXFP4:  # a scale of 255 is NaN, by the OCP's specification; ggml takes it for 2^128
            wanted = np.where(np.repeat(tensors[kind].reshape(ROWS, -1, 17)[:, :, 0] == 255, 32, axis=1), np.nan, wanted)
        count = differences(found, np.ascontiguousarray(wanted, np.float32))
        failed |= count != 0
        print(f"{kind.name:6} {count} of {found.size} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
