#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command edgeq from end to end on a small checkpoint, then on every malformed file of the fuzzers' corpora.

usage: check_command.py EDGEQ FOLDER_OF_CORPUS_SCRIPTS

Only Python itself is needed. A command ends with 0, or with 1 and one sentence on stderr; anything else is a failure.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

edgeq, scripts = sys.argv[1], Path(sys.argv[2])
failures = []


def run(*arguments, code=0):
    """stdout, or stderr where the command is to fail; code None: either."""
    result = subprocess.run([edgeq, *map(str, arguments)], capture_output=True, timeout=60)
    text = result.stderr.decode(errors="replace")
    is_sentence = text.startswith("edgeq: ") and text.endswith("\n") and text.count("\n") == 1
    good = (result.returncode == 0 and not text) or (result.returncode == 1 and is_sentence)
    if not good or (code is not None and result.returncode != code):
        failures.append(f"edgeq {' '.join(map(str, arguments))}: exit code {result.returncode}, stderr: {text!r}")
    return text if code else result.stdout.decode(errors="replace")


def expect(condition, what):
    if not condition:
        failures.append(what)


def write_checkpoint(folder):
    """Two linears and a norm in F32, with a config.json."""
    rng, header, data = random.Random(1), {}, b""
    for name, shape in {"model.up_proj.weight": [48, 64], "model.down_proj.weight": [64, 48], "model.norm.weight": [64]}.items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        values = struct.pack(f"<{count}f", *(rng.uniform(-1, 1) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "config.json").write_text('{"hidden_size": 64}')


def check_commands(folder):
    plain = folder / "plain"
    write_checkpoint(plain)
    for command in ("inspect", "pack", "quantize", "verify", "convert"):
        expect("--json" in run(command, "--help"), f"{command} --help does not mention --json")
    expect("quantize" in run("--help"), "--help does not list the commands")

    report = json.loads(run("inspect", plain, "--json"))
    expect(report["matrices"] == 2 and report["weights"] == 2 * 48 * 64, f"inspect reports {report}")
    run("pack", plain, folder / "plain.eqp")
    run("verify", folder / "plain.eqp")
    run("verify", plain, folder / "plain.eqp", "--exact")
    run("quantize", plain, folder / "gptq", "--group", "16", "--scales", "f16", "--output-form", "gptq")
    run("convert", folder / "gptq", folder / "ct", "--to", "compressed-tensors")
    run("pack", folder / "ct", folder / "ct.eqp", "--static-groups")
    run("verify", folder / "gptq", folder / "ct.eqp", "--exact")
    run("quantize", plain, folder / "fp8", "--format", "fp8", "--block", "16x16", "--output-form", "fp8")
    for kind, least in (("gptq", 15), ("fp8", 25)):
        linears = json.loads(run("verify", plain, folder / kind, "--json"))["linears"]
        expect(len(linears) == 2 and all(least < linear["snr_db"] < 60 for linear in linears), f"{kind}: {linears}")
    for threads in (1, 3):
        run("quantize", plain, folder / f"t{threads}", "--group", "16", "--search", "--asymmetric", "--threads", threads)
    expect((folder / "t1/model.safetensors").read_bytes() == (folder / "t3/model.safetensors").read_bytes(),
           "one thread and three write different bytes")

    for arguments, words in ((["inspect"], "in is required"), (["frobnicate"], "subcommand"),
                             (["inspect", folder / "none"], "cannot open"), (["inspect", folder], "safetensors files"),
                             (["convert", plain, folder / "x", "--to", "gptq"], "no linear is quantized"),
                             (["pack", plain, folder / "none/x"], "cannot write"),
                             (["verify", plain, folder / "gptq", "--exact"], "are not equal"),
                             (["verify", plain / "model.safetensors"], "magic is missing"),
                             (["quantize", plain, folder / "x", "--group", "7"], "no multiple of the group")):
        text = run(*arguments, code=1)
        expect(words in text, f"{arguments}: {text!r} does not say {words!r}")


def check_memory(folder):
    """The memory of a pack does not grow with the file, of which every page is read."""
    rows, columns = 20480, 2048
    text = json.dumps({"w.weight": {"dtype": "F32", "shape": [rows, columns], "data_offsets": [0, rows * columns * 4]}}).encode()
    with open(folder / "large", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + rows * columns * 4)
    peaks = []
    for command in (["inspect", folder / "large"], ["pack", folder / "large", folder / "large.eqp"]):
        process = subprocess.Popen([edgeq, *map(str, command)], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        expect(process.returncode == 0, f"{command} of a large file fails")
        peaks.append(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
    size = (folder / "large.eqp").stat().st_size
    expect(size >= rows * columns * 4, f"the packed file has {size} bytes")
    expect(peaks[1] - peaks[0] < 0.8 * size, f"packing {size} bytes took {peaks[1] - peaks[0]} bytes more than looking at them")


def check_corpora(folder):
    count = 0
    for kind in ("safetensors", "gguf", "packed"):
        subprocess.run([sys.executable, scripts / f"make_{kind}_corpus.py", folder / kind], check=True)
        for path in sorted((folder / kind).iterdir()):
            count += 1
            run("inspect", path, code=None)
            run("pack", path, folder / "out.eqp", code=None)
            if kind == "packed":
                run("verify", path, path, code=None)
                run("verify", path, code=1)  # its checksums are zero
    folder_of_configs = folder / "quantization_config"
    subprocess.run([sys.executable, scripts / "make_quantization_config_corpus.py", folder_of_configs], check=True)
    for path in sorted(folder_of_configs.iterdir()):
        count += 1
        (folder / "plain/config.json").write_bytes(path.read_bytes())
        run("inspect", folder / "plain", code=None)
    expect(count > 200, f"only {count} files in the corpora")


with tempfile.TemporaryDirectory(prefix="edgeq_command_") as name:
    check_commands(Path(name))
    check_memory(Path(name))
    check_corpora(Path(name))
print("\n".join(failures) or "every command did what it should")
sys.exit(1 if failures else 0)
