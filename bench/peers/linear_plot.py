# SPDX-License-Identifier: Apache-2.0
"""Draws compare_linear.py's rows: tokens per second through all shapes together, decode above prefill."""
COLORS = {"edgeq": "#1f6fb4", "torch": "#e4703a", "onnxruntime": "#8a8f98", "openvino": "#7a5aa6", "vllm": "#3f9b6b"}


def totals(rows, m, threads):
    """(tokens per second, largest error, contender) of those that ran every shape, the slowest first."""
    cell = [row for row in rows if (row["m"], row["threads"]) == (m, threads) and row["shape"] != "tiny"]
    shapes = {row["shape"] for row in cell}
    by_name = {}
    for row in cell:
        by_name.setdefault(row["contender"], []).append(row)
    return sorted((m * 1e6 / sum(row["us"] for row in parts), max(row["relative_error"] for row in parts), name)
                  for name, parts in by_name.items() if len(parts) == len(shapes))


def draw(rows, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    measured = [row for row in rows if row["shape"] != "tiny"]
    if not measured:
        raise SystemExit("compare_linear: nothing but the tiny shape was measured: there is nothing to draw")
    shapes = list(dict.fromkeys(f"{row['shape']} {row['n']}x{row['k']}" for row in measured))
    ms = sorted({row["m"] for row in measured})
    ms = [ms[0], ms[-1]] if len(ms) > 1 else ms
    thread_counts = sorted({row["threads"] for row in measured})
    bars = max(len(totals(rows, m, threads)) for m in ms for threads in thread_counts)
    figure, axes = pyplot.subplots(len(ms), len(thread_counts), squeeze=False, layout="constrained",
                                   figsize=(8.5 * len(thread_counts), (0.3 * bars + 1.4) * len(ms)))
    for m, line in zip(ms, axes):
        for threads, axis in zip(thread_counts, line):
            contenders = totals(rows, m, threads)
            fastest_other = max((speed for speed, _, name in contenders if not name.startswith("edgeq")), default=None)
            for y, (speed, error, name) in enumerate(contenders):
                axis.barh(y, speed, color=COLORS[name.split()[0]], height=0.78)
                ratio = f"   x{speed / fastest_other:.2f}" if fastest_other and name.startswith("edgeq") else ""
                axis.text(speed, y, f" {speed:,.0f}{ratio}   error {error:.0e}", va="center", fontsize=8)
            axis.set_yticks(range(len(contenders)), [name for _, _, name in contenders], fontsize=8.5)
            for tick, (_, _, name) in zip(axis.get_yticklabels(), contenders):
                if name.startswith("edgeq"):
                    tick.set(fontweight="bold", color=COLORS["edgeq"])
            axis.set_xlim(0, 1.32 * max((speed for speed, _, _ in contenders), default=1))
            axis.set_ylim(len(contenders) - bars - 0.6, len(contenders) - 0.4)
            axis.spines[["top", "right"]].set_visible(False)
            axis.xaxis.set_major_formatter("{x:,.0f}")
            phase = "decode, weights from memory" if m == 1 else "prefill" if m == ms[-1] else "rows"
            axis.set_title(f"{phase} (M = {m}), {threads} thread{'s' if threads > 1 else ''}", fontsize=11, loc="left",
                           fontweight="bold")
    for axis in axes[-1]:
        axis.set_xlabel("tokens per second through these layers")
    figure.suptitle(f"Linear layers {', '.join(shapes)} (N x K): longer is faster.\n"
                    "x: speed over the fastest engine that is not edgeq. error: of y, relative, against double.",
                    fontsize=11)
    figure.savefig(path, dpi=110)
