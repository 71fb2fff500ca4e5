#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares edgeq's importers with other readers and writers of the same layouts, on random data, bit for bit.

    check_importers.py --decode PATH_OF_decode_linear

With numpy alone: GPTQ, AWQ, MatMulNBits and tinygemm linears packed by the loops that describe these formats, written
here for a second time. With torch and compressed-tensors (pip install torch compressed-tensors): linears that the
library's own compressors wrote, against its own decompression; either side of release 0.18.0 checks its own packing.
Exit code 77 if packages are missing, 1 if a value differs.
"""
import argparse
import itertools
import subprocess
import sys

SKIPPED = 77  # CTest's SKIP_RETURN_CODE
try:
    import numpy as np
except ImportError:
    print("skipped: no numpy (pip install numpy)")
    sys.exit(SKIPPED)

NAMES = {"int32": "I32", "uint32": "I32", "uint8": "U8", "int8": "I8", "int64": "I64", "float16": "F16", "float32": "F32",
         "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}
random = np.random.default_rng(2026)


class Decoder:
    def __init__(self, program):
        self.program = program
        self.cases = 0
        self.failures = 0

    def check(self, layout, options, tensors, expected, to_same=lambda values: values):
        """Decodes `tensors` (name -> array, or (type name, shape, bytes)) and compares the bits with `expected` [N, K]."""
        data = b""
        for name, tensor in tensors.items():
            if isinstance(tensor, np.ndarray):
                tensor = (tensor.dtype.name, tensor.shape, np.ascontiguousarray(tensor).tobytes())
            kind, shape, content = tensor
            data += " ".join([name, NAMES[kind], *map(str, shape)]).encode() + b"\n" + content
        command = [self.program, layout] + [f"{key}={value}" for key, value in options.items()]
        run = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.cases += 1
        if run.returncode != 0:
            return self.fail(command, run.stderr.decode().strip())
        values = np.frombuffer(run.stdout, np.float32)
        if values.size != expected.size:
            return self.fail(command, f"{values.size} values, not {expected.size}")
        found, right = to_same(values.reshape(expected.shape)), np.ascontiguousarray(expected)
        if found.tobytes() != right.tobytes():
            at = np.argwhere((found != right) & ~((found != found) & (right != right)))[:1]
            self.fail(command, f"differs first at {at}: {found[tuple(at[0])]} is not {right[tuple(at[0])]}" if len(at)
                      else "differs in the sign of a zero or in a NaN")

    def fail(self, command, why):
        self.failures += 1
        print("FAILED:", " ".join(command[1:]), ":", why)


def scales_of(shape, kind=np.float16):
    return (random.standard_normal(shape) * 0.1).astype(kind)


def pack_rows(codes, bits):
    """GPTQ's words of codes [K, N]: 32 / bits to a word; of 3 bits, 10 and a shared one, 10 and a shared one, 10."""
    codes = codes.astype(np.uint32)
    if bits != 3:
        per_word = 32 // bits
        codes = np.pad(codes, ((0, -len(codes) % per_word), (0, 0)))
        return np.stack([sum(codes[i + j] << np.uint32(bits * j) for j in range(per_word))
                         for i in range(0, len(codes), per_word)]).astype(np.uint32)
    words = []
    for i in range(0, len(codes), 32):
        run = codes[i:i + 32]
        words.append(sum(run[j] << np.uint32(3 * j) for j in range(10)) | run[10] << np.uint32(30))
        words.append(run[10] >> np.uint32(2) | sum(run[11 + j] << np.uint32(3 * j + 1) for j in range(10)) |
                     run[21] << np.uint32(31))
        words.append(run[21] >> np.uint32(1) | sum(run[22 + j] << np.uint32(3 * j + 2) for j in range(10)))
    return np.stack(words).astype(np.uint32)


def check_gptq(decoder):
    for bits, second, act_order, (k, n, group) in itertools.product(
            (2, 3, 4, 8), (False, True), (False, True), ((64, 32, 32), (128, 96, 64), (96, 64, -1), (160, 32, 64))):
        step = k if group == -1 else group
        groups = -(-k // step)
        codes = random.integers(0, 2**bits, (k, n))
        zeros = random.integers(1, 2**bits, (groups, n))  # 0 is not stored by all writers of the first version alike
        scales = scales_of((groups, n))
        g_idx = (random.permutation(np.arange(k)) if act_order else np.arange(k)) // step
        stored = zeros if second else zeros - 1
        tensors = {"qweight": pack_rows(codes, bits), "qzeros": pack_rows(stored.T, bits).T, "scales": scales,
                   "g_idx": g_idx.astype(np.int32)}
        expected = (scales.astype(np.float32)[g_idx] * (codes - zeros[g_idx]).astype(np.float32)).T
        options = {"bits": bits, "group_size": group, "sym": 0, "desc_act": int(act_order),
                   "checkpoint_format": "gptq_v2" if second else "gptq"}
        decoder.check("gptq", options, tensors, expected)


def check_awq(decoder):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    def pack(values):
        columns = values.astype(np.uint32).reshape(len(values), -1, 8)
        return sum(columns[:, :, order[i]] << np.uint32(4 * i) for i in range(8)).astype(np.uint32)
    for k, n, group in ((32, 8, 16), (128, 64, 128), (96, 40, 32), (64, 16, -1)):
        step = k if group == -1 else group
        codes, zeros = random.integers(0, 16, (k, n)), random.integers(0, 16, (k // step, n))
        scales = scales_of((k // step, n))
        g = np.arange(k) // step
        expected = (scales.astype(np.float32)[g] * (codes - zeros[g]).astype(np.float32)).T
        decoder.check("awq", {"group_size": group}, {"qweight": pack(codes), "qzeros": pack(zeros), "scales": scales},
                      expected)


def bit_rows(values, bits, row_bytes):
    """Rows of values as streams of bits, LSB first, padded to whole rows of bytes with ones."""
    stream = (values[:, :, None] >> np.arange(bits) & 1).reshape(len(values), -1).astype(np.uint8)
    stream = np.pad(stream, ((0, 0), (0, row_bytes * 8 - stream.shape[1])), constant_values=1)
    return np.packbits(stream, axis=1, bitorder="little")


def check_matmul_nbits(decoder):
    for bits, zero_kind, (n, k, block) in itertools.product(
            range(2, 9), ("none", "packed", "float"), ((1, 40, 32), (5, 96, 16), (17, 130, 64))):
        blocks = -(-k // block)
        codes = random.integers(0, 2**bits, (n, k))
        zeros = random.integers(0, 2**bits, (n, blocks))
        if zero_kind == "none":
            zeros[:] = 2**(bits - 1)
        kind = (np.float32, np.float16)[bits % 2]
        scales = scales_of((n, blocks), kind)
        tensors = {"b": bit_rows(codes, bits, blocks * block * bits // 8), "scales": scales.reshape(-1)}
        if zero_kind == "packed":
            tensors["zero_points"] = bit_rows(zeros, bits, -(-blocks * bits // 8)).reshape(-1)
        if zero_kind == "float":
            tensors["zero_points"] = zeros.astype(kind).reshape(-1)
        g = np.arange(k) // block
        expected = scales.astype(np.float32)[:, g] * (codes - zeros[:, g]).astype(np.float32)
        decoder.check("matmul_nbits", {"bits": bits, "n": n, "k": k, "block_size": block}, tensors, expected)


def check_tinygemm(decoder):
    for kind, integers, (n, k, group) in itertools.product(
            (np.float16, np.float32), (False, True), ((16, 64, 32), (7, 128, 64), (48, 256, 256))):
        groups = k // group
        codes = random.integers(0, 16, (n, k)).astype(np.int32)
        scales = (random.integers(128, 256, (groups, n)) / 4096).astype(kind)  # 8 bits: times 8 - z is exact
        zeros = scales * random.integers(-7, 9, (groups, n)).astype(kind) if integers else scales_of((groups, n), kind)
        g = np.arange(k) // group
        # In binary64 the sum is exact, so that it is rounded once.
        expected = ((codes - 8).T * scales.astype(np.float64)[g] + zeros.astype(np.float64)[g]).astype(np.float32).T
        decoder.check("tinygemm", {"group_size": group},
                      {"codes": codes, "scales_and_zeros": np.stack([scales, zeros], axis=-1)}, expected)


def check_compressed_tensors(decoder):
    import torch
    import compressed_tensors
    from compressed_tensors.compressors.base import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    torch.manual_seed(2026)

    def raw(tensor):
        integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
        return str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), tensor.view(integer).numpy().tobytes()

    def check(name, bits, kind, symmetric, strategy, n, k, scale_type, group=16, block=(8, 24)):
        shape = {"tensor": (1,), "channel": (n, 1), "group": (n, k // group),
                 "block": (-(-n // block[0]), -(-k // block[1]))}[strategy]
        scale = (torch.rand(shape) * 0.1 + 0.01).to(scale_type)
        low, high = -2**(bits - 1), 2**(bits - 1) - 1
        arguments = QuantizationArgs(num_bits=bits, type=kind, symmetric=symmetric, strategy=strategy,
                                     group_size=group if strategy == "group" else None,
                                     block_structure=list(block) if strategy == "block" else None)
        scheme = QuantizationScheme(targets=["Linear"], weights=arguments)
        # Weights that reach every code, and beyond.
        spread = 2**bits if kind == "int" else 600
        state = {"weight": ((torch.rand(n, k) - 0.5) * spread * 0.06).to(scale_type), "weight_scale": scale}
        if not symmetric:
            state["weight_zero_point"] = torch.randint(low, high + 1, shape, dtype=torch.int8)
        compressor = BaseCompressor.get_value_from_registry(name)
        stored = compressor.compress(state, scheme)
        right = compressor.decompress(stored, scheme)["weight"]
        tensors = {"weight" if key == "weight_packed" else key: raw(value) for key, value in stored.items()}
        options = {"bits": bits, "symmetric": int(symmetric), "strategy": strategy, "group_size": group,
                   "block_rows": block[0], "block_columns": block[1], "version": compressed_tensors.__version__}
        # The library multiplies in the scale's type, which rounds once what is exact, or rounded once, in binary32.
        rounded = lambda values: torch.from_numpy(values.copy()).to(right.dtype).float().numpy()
        decoder.check("compressed_tensors", options, tensors, right.float().numpy(), rounded)

    types = (torch.bfloat16, torch.float16, torch.float32)
    for bits, symmetric, strategy, scale_type in itertools.product(
            range(1, 9), (True, False), ("group", "channel", "tensor"), types):
        for n, k in ((16, 64), (35, 48)) if strategy == "group" else ((16, 64), (35, 42)):
            check("pack-quantized", bits, "int", symmetric, strategy, n, k, scale_type)
    for symmetric, strategy, scale_type in itertools.product((True, False), ("group", "channel", "tensor"), types):
        check("int-quantized", 8, "int", symmetric, strategy, 19, 48, scale_type)
    for strategy, scale_type in itertools.product(("channel", "tensor", "block", "group"), types):
        check("float-quantized", 8, "float", True, strategy, 24, 48, scale_type)
    if tuple(map(int, compressed_tensors.__version__.split(".")[:2])) >= (0, 18):  # older ones fail at short blocks
        check("float-quantized", 8, "float", True, "block", 19, 50, torch.float32)
    return f"compressed-tensors {compressed_tensors.__version__}, torch {torch.__version__}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decode", required=True, help="the program decode_linear")
    decoder = Decoder(parser.parse_args().decode)
    for check in (check_gptq, check_awq, check_matmul_nbits, check_tinygemm):
        check(decoder)
    missing = None
    try:
        against = check_compressed_tensors(decoder)
    except ImportError as error:
        missing = against = f"without compressed-tensors ({error})"
    print(f"{decoder.cases} linears, {decoder.failures} failed; {against}")
    sys.exit(1 if decoder.failures else SKIPPED if missing else 0)


if __name__ == "__main__":
    main()
