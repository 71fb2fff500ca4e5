#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models the cycles of an Arm kernel's inner loop, for each 1000 multiply-adds, on several cores by llvm-mca.

Of each function whose name matches, the innermost loop with the most multiplications is taken out of the disassembly and
given to llvm-mca as straight code: every instruction of the loop counts once, loads hit the first cache. What stands outside the loop, such as the scaling at a group's end where groups
are longer than it, is not in the figure. These are the schedules of LLVM's models, not measurements; two loops may be
compared, a time may not be told from them. A "-" is a core that lacks an instruction of the loop. LLVM 19 models the
Cortex-A72 by its A57; older versions have models of fewer cores.

    model_cycles.py build/arm64/bench/arm/multiply_once --symbol 'neon_dotprod::multiply_panels<.*Symmetric, 32.*Integer<8'
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "codegen"))
from inner_loops import functions  # noqa: E402

from loops import BRANCH, innermost_loops  # noqa: E402

CORES = ["neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2", "cortex-a55", "cortex-a72"]
ITERATIONS = 1000  # so that the first ones, which fill the pipeline, do not count

# Multiply-adds of an instruction on a vector of 128 bits. A loop is counted by the first kind that it has: in an integer
# kernel fmla scales sums.
KINDS = [(r"[su]{1,2}mmla ", 32), (r"(su|us|s|u)dot ", 16), (r"[su]ml[as]l[tb]?2? v\d+\.8h|[su]mull2? v\d+\.8h", 8),
         (r"bfmmla ", 16), (r"bfdot ", 8), (r"bfmlal[tb] ", 4), (r"fmla ", 4)]


def count_products(loop, bits):
    """(multiplications, multiply-adds of an iteration)."""
    for pattern, width in KINDS:
        count = sum(bool(re.match(pattern, text)) for text in loop)
        if count:
            return count, count * width * bits // 128
    return 0, 0


def model(options, loop, core):
    """Cycles of an iteration, or None where the core lacks an instruction."""
    source = "loop:\n" + "".join(BRANCH.sub(r"\1loop", text.split(" //")[0]) + "\n" for text in loop)
    run = subprocess.run([options.llvm_mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={core}", f"-iterations={ITERATIONS}"],
                         input=source, capture_output=True, text=True)
    total = re.search(r"^Total Cycles: +(\d+)", run.stdout, re.MULTILINE)
    return int(total.group(1)) / ITERATIONS if run.returncode == 0 and total else None


def describe(options, name, loop):
    count, products = count_products(loop, options.bits)
    products //= options.planes
    short = re.sub(r"edgeq::(arm_\w+::)?", "", name)
    print(f"{short}\n  {len(loop)} instructions, {count} multiplications, {products} multiply-adds an iteration")
    for core in options.core:
        cycles = model(options, loop, core)
        print(f"  {core:14}" + (f"{cycles:9.1f} cycles{cycles * 1000 / products:9.1f} for 1000" if cycles else "        -"))
    if options.print_loop:
        print("".join(f"    {text}\n" for text in loop))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("object", help="an object file or a program for Arm")
    parser.add_argument("--symbol", required=True, help="a regular expression for the demangled names of functions")
    parser.add_argument("--all-loops", action="store_true", help="every innermost loop, not the one with most products")
    parser.add_argument("--bits", type=int, default=128, help="the vector length of SVE")
    parser.add_argument("--planes", type=int, default=1, help="2 for 16-bit activations: products for each multiply-add")
    parser.add_argument("--core", nargs="+", default=CORES)
    parser.add_argument("--print-loop", action="store_true")
    parser.add_argument("--objdump", default="aarch64-linux-gnu-objdump")
    parser.add_argument("--llvm-mca", default="llvm-mca-19")
    options = parser.parse_args()
    if not shutil.which(options.llvm_mca):
        print(f"SKIPPED: {options.llvm_mca} not found (Debian: llvm-19)")
        sys.exit(77)
    listing = subprocess.run([options.objdump, "--disassemble", "--demangle", "--no-show-raw-insn", options.object],
                             check=True, capture_output=True, text=True).stdout
    found = False
    for name, body in functions(listing.splitlines()):
        if not re.search(options.symbol, name):
            continue
        loops = innermost_loops(body, lambda loop: count_products(loop, options.bits)[0])
        if loops and not options.all_loops:
            loops = [max(loops, key=lambda loop: count_products(loop, options.bits)[0])]
        for loop in loops:
            found = True
            describe(options, name, loop)
    if not found:
        sys.exit(f"model_cycles: no loop with multiplications in a function that matches {options.symbol}")


if __name__ == "__main__":
    main()
