#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that Arm kernels execute, for each 1000 multiply-adds, where there is no Arm machine.

QEMU runs multiply_once under the plugin count_instructions with one repetition and with two; the difference is one
multiplication, without packing, without bringing x into the kernel's form, without the start of the program. It is a
property of the compiler's code: exact, the same every time, and not a time. Programs of several compilers stand side by
side:

    count_table.py --plugin libcount_instructions.so GCC=build/arm64/bench/arm/multiply_once Clang=...

A "-" is a kernel that the program does not have, or that the emulated processor cannot run; such rows are left out unless
they have a goal or are all that an instruction set has. The goal of 16-bit activations is reckoned from the count of 8-bit ones.
"""
import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

ISAS = ["neon", "neon_dotprod", "neon_i8mm", "neon_bf16", "sve", "sve_i8mm"]
FORMATS = ["int4_g32", "int4_g128", "int4_zero_g32", "bf16", "fp8_channel"]
FLOAT_FORMATS = ["bf16", "fp8_channel"]  # which no integer multiplies
ACTIVATIONS = ["int8", "int16", "bf16"]
ROWS = [1, 8, 16, 48, 64]
N, K = 64, 4096

# Instructions for 1000 multiply-adds of int4_g32 by int8 at N = 64, K = 4096: (isa, bits of a vector, M) to those of GCC
# 12 and of Clang 19, which is what programs named GCC and Clang are held to.
COMPILERS = ["GCC", "Clang"]
GOALS = {("neon", 128, 1): (290, 270),
         ("neon_dotprod", 128, 1): (203, 180), ("neon_dotprod", 128, 16): (118, 111), ("neon_dotprod", 128, 48): (106, 105),
         ("neon_i8mm", 128, 16): (85, 83), ("neon_i8mm", 128, 64): (75, 74),
         ("sve_i8mm", 256, 8): (57, 51)}
INT16_RATIO = 1.5  # of the instructions of int8, at M = 1


def count(options, program, processor, row, repetitions):
    """Instructions of one run of the program; None where it refuses the kernel."""
    with tempfile.NamedTemporaryFile("r") as log:
        run = subprocess.run([options.qemu, "-plugin", options.plugin, "-d", "plugin", "-D", log.name, program,
                              "--isa", row["isa"], "--format", row["format"], "--activation", row["activation"],
                              "--m", str(row["m"]), "--n", str(options.n), "--k", str(options.k),
                              "--repetitions", str(repetitions)],
                             env={**os.environ, "QEMU_CPU": processor}, capture_output=True, text=True)
        if run.returncode == 2:
            return None
        found = re.search(r"executed instructions: (\d+)", log.read())
        if run.returncode != 0 or not found:
            sys.exit(f"count_table: {' '.join(run.args)} failed ({run.returncode}): {run.stderr}")
        return int(found.group(1))


def count_row(options, program, row):
    """Instructions for 1000 multiply-adds, or None."""
    processor = f"max,sve-max-vq={row['bits'] // 128}" if row["isa"].startswith("sve") else "max"
    once = count(options, program, processor, row, 1)
    if once is None:
        return None
    twice = count(options, program, processor, row, 2)
    return (twice - once) * 1000 / (row["m"] * options.n * options.k)


def goal_of(options, row, name, counts):
    """The goal of a row for the program of this name, or None. `counts` has int4_g32's so far."""
    if (row["format"], options.n, options.k) != ("int4_g32", N, K):
        return None
    if row["activation"] == "int8" and name in COMPILERS:
        return GOALS.get((row["isa"], row["bits"], row["m"]), (None, None))[COMPILERS.index(name)]
    if row["activation"] == "int16" and row["m"] == 1:
        base = counts.get((name, "int8", 1))
        return base and INT16_RATIO * base
    return None


def rows_of(options, isa, bits):
    for form, activation, m in itertools.product(options.format, options.activation, options.m):
        if not (form in FLOAT_FORMATS and activation.startswith("int")):
            yield {"isa": isa, "bits": bits, "format": form, "activation": activation, "m": m}


def counted_rows(options, names, programs, isa, bits):
    """Yields the rows of an instruction set with their instructions and goals, one value for each program."""
    counts, shown, first = {}, False, None
    for row in rows_of(options, isa, bits):
        row["instructions"] = [count_row(options, program, row) for program in programs]
        row["goals"] = [goal_of(options, row, name, counts) for name in names]
        if row["format"] == "int4_g32":
            counts.update({(name, row["activation"], row["m"]): n for name, n in zip(names, row["instructions"])})
        first = first or row
        if any(row["instructions"] + row["goals"]):
            shown = True
            yield row
    if first and not shown:
        yield first


def text_of(value):
    return "-" if value is None else f"{value:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="COMPILER=PROGRAM", help="a name and a path; those named GCC and Clang have goals")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--qemu", default="qemu-aarch64")
    parser.add_argument("--isa", nargs="+", default=ISAS)
    parser.add_argument("--sve-bits", nargs="+", type=int, default=[256, 512], help="vector lengths of the rows of SVE")
    parser.add_argument("--format", nargs="+", default=FORMATS)
    parser.add_argument("--activation", nargs="+", default=ACTIVATIONS)
    parser.add_argument("--m", nargs="+", type=int, default=ROWS)
    parser.add_argument("--n", type=int, default=N)
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.plugin = os.path.abspath(options.plugin)  # QEMU looks for a bare name in the library path
    names, programs = zip(*(text.split("=", 1) for text in options.programs))

    columns = [f"{name}{suffix}" for name in names for suffix in ("", " goal")]
    line = "{:14}{:>5}  {:15}{:11}{:>4}" + "{:>12}" * len(columns)
    if not options.json:
        print(f"instructions for 1000 multiply-adds, N = {options.n}, K = {options.k}; counted, not timed")
        print(line.format("isa", "bits", "weights", "activation", "M", *columns))
    rows = []
    for isa in options.isa:
        for bits in options.sve_bits if isa.startswith("sve") else [128]:
            for row in counted_rows(options, names, programs, isa, bits):
                rows.append(row)
                if not options.json:
                    cells = [text_of(value) for pair in zip(row["instructions"], row["goals"]) for value in pair]
                    print(line.format(isa, bits, row["format"], row["activation"], row["m"], *cells), flush=True)
    if options.json:
        print(json.dumps([{**row, "n": options.n, "k": options.k, "compilers": list(names)} for row in rows], indent=1))


if __name__ == "__main__":
    main()
