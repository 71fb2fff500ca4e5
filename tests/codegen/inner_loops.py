#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what compilers add to the innermost loops of kernels: copies of accumulators, spills, calls.

Reads the disassembly of an object file (objdump --disassemble --no-show-raw-insn) and looks at every loop that
contains the dot product of an instruction set and no other such loop. A copy of a vector register or a store to
the stack in it takes a slot of the front end. One for each product costs a third of the speed (GCC 12 with
intrinsics); one for every three fits beside two products a cycle on six slots, so more than that fails. Copies of other registers belong to the decoding: the
table lookups overwrite their index.
"""
import argparse
import re
import sys

DOT = re.compile(r"^(\{vex\} )?(vpdpbusd|vdpbf16ps|vpmaddubsw|tdp\w+)\b")
COPY = re.compile(r"^vmov(?:dqa|dqa32|dqa64|aps|ups|dqu64) %[xyz]mm(\d+),%[xyz]mm(\d+)$")
SPILL = re.compile(r"^vmov\w+ %[xyz]mm\d+,(-?0x[0-9a-f]+)?\(%r[sb]p[,)]")
JUMP = re.compile(r"^j\w+ +([0-9a-f]+)\b")


def functions(lines):
    """Yields (name, [(address, instruction)])."""
    name, body = None, []
    for line in lines:
        head = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
        if head:
            if body:
                yield name, body
            name, body = head.group(1), []
        part = re.match(r"^ +([0-9a-f]+):\t(.*)$", line)
        if part:
            body.append((int(part.group(1), 16), " ".join(part.group(2).split())))
    if body:
        yield name, body


def innermost_loops(body):
    """Yields the instructions of each innermost loop with a dot product."""
    index = {address: i for i, (address, _) in enumerate(body)}
    spans = []
    for i, (address, text) in enumerate(body):
        jump = JUMP.match(text)
        if jump and int(jump.group(1), 16) <= address and int(jump.group(1), 16) in index:
            first = index[int(jump.group(1), 16)]
            if any(DOT.match(t) for _, t in body[first : i + 1]):
                spans.append((first, i))
    for first, last in spans:
        if not any((f, l) != (first, last) and first <= f and l <= last for f, l in spans):
            yield [text for _, text in body[first : last + 1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("disassembly")
    parser.add_argument("--least-loops", type=int, default=1, help="fewer loops found is a failure")
    parser.add_argument("--least-products", type=int, default=16, help="smaller loops, of partial tiles, are left out")
    parser.add_argument("--share", type=float, default=1 / 3, help="copies and spills allowed for each product")
    options = parser.parse_args()
    found, failed, products, extra = 0, 0, 0, 0
    with open(options.disassembly, encoding="utf-8") as file:
        for name, body in functions(file):
            for loop in innermost_loops(body):
                dots = sum(bool(DOT.match(t)) for t in loop)
                if dots < options.least_products:
                    continue
                sums = {t.rsplit("mm", 1)[1] for t in loop if DOT.match(t)}
                copies = sum(bool(c) and not sums.isdisjoint(c.groups()) for c in map(COPY.match, loop))
                spills = sum(bool(SPILL.match(t)) for t in loop)
                calls = sum(t.startswith("call") for t in loop)
                found, products, extra = found + 1, products + dots, extra + copies + spills
                if copies + spills > options.share * dots or calls:
                    failed += 1
                    print(f"FAILED: a loop of {dots} products has {copies} copies, {spills} spills, {calls} calls: {name}")
    print(f"{found} innermost loops, {products} products, {extra} copies and spills")
    if found < options.least_loops:
        print(f"FAILED: {options.least_loops} loops expected")
    sys.exit(failed > 0 or found < options.least_loops)


if __name__ == "__main__":
    main()
