#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of quantization_config_fuzz into a folder: a config of each method, and expressions."""
import json
import sys
from pathlib import Path


def compressed(format, weights, **fields):
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    return {"quant_method": "compressed-tensors", "format": format, "config_groups": groups, **fields}


CONFIGS = {
    "gptq": {"bits": 4, "group_size": 128, "desc_act": True, "sym": False, "static_groups": False, "damp_percent": 0.01},
    "gptq_dynamic": {"quant_method": "gptq", "w_bit": 3, "q_group_size": -1, "checkpoint_format": "gptq_v2", "lm_head": True,
                     "pack_dtype": "int32", "dynamic": {r"+:.*\.18\..*gate.*": {"bits": 8, "group_size": 32},
                                                        "-:.*down.*": {}, ".*up": {"sym": False, "desc_act": True}},
                     "modules_in_block_to_quantize": [["self_attn.q_proj"], "mlp.up_proj"]},
    "gptq_planar": {"quant_method": "gptq", "bits": 4, "format": "gptq_p"},
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 64, "version": "GEMM", "zero_point": True,
            "modules_to_not_convert": ["visual"], "backend": "autoawq"},
    "packed": compressed("pack-quantized", {"num_bits": 4, "type": "int", "symmetric": False, "strategy": "group",
                                            "group_size": 128, "actorder": "group"},
                         ignore=["lm_head", "re:.*mlp.gate$"], version="0.9.4", sparsity_config={}, transform_config={}),
    "blocks": compressed("float-quantized", {"num_bits": 8, "type": "float", "strategy": "block",
                                             "block_structure": "128x128"}),
    "nvfp4": compressed("nvfp4-pack-quantized", {"num_bits": 4, "type": "float", "strategy": "tensor_group",
                                                 "group_size": 16}),
    "mixed": {"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": {
        "a": {"targets": ["re:.*down_proj"], "format": "int-quantized", "weights": {"num_bits": 8, "strategy": "channel"}},
        "b": {"targets": ["layers.3.up"], "format": "dense", "weights": {}}, "c": {"targets": "Linear", "weights": None}}},
    "fp8": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128],
            "modules_to_not_convert": ["lm_head", "mlp.gate"], "ignored_layers": None},
    "mxfp4": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
    "modelopt": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"], "group_size": 16},
}

EXPRESSIONS = [r"^model\.layers\.(1|2\d)\.(q|k|v)_proj$", r"(?:a|ab)*[^.]+\d{1,2}?", r"(((a|a)*)*)*$", r"(?!a)b", r"[]a-z\]]",
               r"a{0}b{2,}", "(" * 40, "|" * 40, r"\w\W\s\S\d\D", ".*.*.*.*x"]


def seeds():
    for name, config in CONFIGS.items():
        yield name, json.dumps({"model_type": "x", "quantization_config": config})
        yield name + "_alone", json.dumps(config)
    yield "nested", json.dumps({"text_config": {"quantization_config": CONFIGS["mxfp4"]}})
    yield "modelopt_legacy", json.dumps({"producer": {}, "quantization": {"quant_algo": "NVFP4", "exclude_modules": ["a*"]}})
    yield "deep", "[" * 2000
    yield "key_twice", '{"bits":4,"bits":8}'
    for i, expression in enumerate(EXPRESSIONS):
        yield f"expression_{i}", expression


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_quantization_config_corpus.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_text(content)


if __name__ == "__main__":
    main()
