# SPDX-License-Identifier: Apache-2.0
"""The linear layers that compare_linear.py times: edgeq's and those of four other engines, each packed from the same
codes and scales.

An engine is a function (threads, options) that yields Contenders; it imports its packages itself, so that only those
that take part need be there. Contender.load(problem, copies) packs that many layers and returns bind; bind(m) returns
them Bound to the first m rows of x.
"""
import ctypes
import importlib.util
import os
from typing import Callable, NamedTuple

import numpy as np

from linear_problem import GROUP


class Missing(Exception):
    """Why an engine cannot take part."""


class Contender(NamedTuple):
    name: str
    precision: str  # of x, or of what is coarsest between x and y: f32, bf16, int16, int8
    group: int  # k that share a scale; 0: the weights are bf16
    bits: float  # in memory per weight, scales and zeros included
    load: Callable


class Bound(NamedTuple):
    run: Callable  # calls each layer once
    outputs: Callable  # y of each
    keeps: tuple = ()  # memory that they point to
    kernel: str = ""  # the instruction set, if the engine tells


def nibbles(codes):
    """Two codes a byte, even k in the low half."""
    return codes[:, 0::2] | codes[:, 1::2] << 4


def edgeq(threads, options):
    try:
        library = ctypes.CDLL(os.path.abspath(options["library"]))
    except OSError as error:
        raise Missing(f"{error} (cmake --preset bench && cmake --build --preset bench --target edgeq_peer)") from error
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    for name, result, arguments in (
            ("error", text, []), ("formats", text, []), ("pool", pointer, [size]),
            ("pack", pointer, [text, size, size, size, pointer, pointer, size, pointer]),
            ("with", pointer, [pointer, text]), ("free", None, [pointer]), ("isa", text, [pointer, size]),
            ("run", ctypes.c_int, [pointer, size, size, pointer, pointer, pointer])):
        function = getattr(library, "edgeq_peer_" + name)
        function.restype, function.argtypes = result, arguments
    pool = library.edgeq_peer_pool(threads)

    def checked(layer):
        if not layer:
            raise Missing(library.edgeq_peer_error().decode())
        return layer

    class Layers:
        """Owns handles."""

        def __init__(self, handles):
            self.handles = [checked(handle) for handle in handles]

        def __del__(self):
            for handle in self.handles:
                library.edgeq_peer_free(handle)

    packed = {}  # of one problem, by format and copies: activations share panels

    def load(problem, copies, name, activation):
        n, k = problem.shape
        if packed.get("problem") is not problem:
            packed.clear()
            packed["problem"] = problem
        if (name, copies) not in packed:
            packed[name, copies] = Layers([library.edgeq_peer_pack(name, n, k, GROUP, problem.codes.ctypes.data,
                                                                   problem.scales.ctypes.data, i, pool)
                                           for i in range(copies)])
        views = Layers([library.edgeq_peer_with(handle, activation) for handle in packed[name, copies].handles])
        handles = (pointer * copies)(*views.handles)

        def bind(m):
            x, y = np.ascontiguousarray(problem.x[:m]), np.full((copies, m, n), np.nan, np.float32)
            arguments = (handles, copies, m, x.ctypes.data, y.ctypes.data, pool)

            def run():
                if library.edgeq_peer_run(*arguments):
                    raise Missing(library.edgeq_peer_error().decode())

            return Bound(run, lambda: y, (x, views), library.edgeq_peer_isa(handles[0], m).decode())

        return bind

    for line in library.edgeq_peer_formats().decode().splitlines():
        name, *activations = line.split()
        group = int(name.split("_g")[1]) if "_g" in name else 0
        for activation in activations:
            yield Contender(f"edgeq {name.replace('_', ' ')} {activation}", activation, group,
                            4 + 16 / group if group else 16,
                            lambda p, c, n=name, a=activation: load(p, c, n.encode(), a.encode()))


def torch_bind(problem, dtype, calls):
    """bind of `calls`, each of which maps an x of this type to y."""
    import torch

    def bind(m):
        x = torch.from_numpy(problem.x[:m]).to(dtype)
        y = [None] * len(calls)

        def run():
            for i, call in enumerate(calls):
                y[i] = call(x)

        return Bound(run, lambda: [one.float().numpy() for one in y])

    return bind


def torch(threads, _):
    import torch
    torch.set_num_threads(threads)

    def load_int4(problem, copies, dtype, group):
        def call(i):
            weight = torch._convert_weight_to_int4pack_for_cpu(
                torch.from_numpy(problem.layer_codes(i).astype(np.int32)), 1)
            scales = torch.from_numpy(np.ascontiguousarray(problem.layer_scales(i, group).T))
            scales_and_zeros = torch.stack((scales, torch.zeros_like(scales)), -1).to(dtype).contiguous()
            return lambda x: torch._weight_int4pack_mm_for_cpu(x, weight, group, scales_and_zeros)

        return torch_bind(problem, dtype, [call(i) for i in range(copies)])

    def load_bf16(problem, copies):
        def call(i):
            weight = torch.from_numpy((problem.layer_codes(i) - np.float32(8)) * problem.layer_scales(i, 1)).bfloat16()
            return lambda x: torch.nn.functional.linear(x, weight)

        return torch_bind(problem, torch.bfloat16, [call(i) for i in range(copies)])

    if hasattr(torch, "_weight_int4pack_mm_for_cpu"):
        for precision, dtype in (("bf16", torch.bfloat16), ("f32", torch.float32)):
            for group in (128, 32):
                yield Contender(f"torch int4 g{group} {precision}", precision, group,
                                4 + (32 if precision == "bf16" else 64) / group,
                                lambda p, c, d=dtype, g=group: load_int4(p, c, d, g))
    yield Contender("torch bf16", "bf16", 0, 16, load_bf16)


def onnxruntime(threads, _):
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    def load(problem, copies, group, level):
        n, k = problem.shape
        nodes, constants = [], []
        for i in range(copies):
            constants += [numpy_helper.from_array(nibbles(problem.layer_codes(i)).reshape(n, -1, group // 2), f"w{i}"),
                          numpy_helper.from_array(problem.layer_scales(i, group).reshape(-1), f"s{i}")]
            nodes.append(helper.make_node("MatMulNBits", ["x", f"w{i}", f"s{i}"], [f"y{i}"], domain="com.microsoft",
                                          N=n, K=k, bits=4, block_size=group, accuracy_level=level))
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["m", width])
                  for name, width in [("x", k)] + [(f"y{i}", n) for i in range(copies)]]
        model = helper.make_model(helper.make_graph(nodes, "layers", values[:1], values[1:], constants), ir_version=9,
                                  opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
        session_options = onnxruntime.SessionOptions()
        session_options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(model.SerializeToString(), session_options,
                                               providers=["CPUExecutionProvider"])

        def bind(m):
            x, y = np.ascontiguousarray(problem.x[:m]), np.full((copies, m, n), np.nan, np.float32)
            binding = session.io_binding()
            binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
            for i in range(copies):
                binding.bind_output(f"y{i}", "cpu", 0, np.float32, (m, n), y[i].ctypes.data)
            return Bound(lambda: session.run_with_iobinding(binding), lambda: y, (x,))

        return bind

    for level, precision in ((4, "int8"), (1, "f32")):
        for group in (128, 32):
            yield Contender(f"onnxruntime int4 g{group} level {level}", precision, group, 4 + 32 / group,
                            lambda p, c, g=group, l=level: load(p, c, g, l))


def openvino(threads, _):
    import openvino
    from openvino import opset13

    def load(problem, copies, group):
        n, k = problem.shape
        x = opset13.parameter([-1, k], openvino.Type.f32)
        outputs, memory = [], []
        for i in range(copies):
            memory.append(np.ascontiguousarray(nibbles(problem.layer_codes(i) ^ 8)).reshape(-1))  # two's complement
            codes = opset13.constant(openvino.Tensor(memory[-1], openvino.Shape([n, k // group, group]),
                                                     openvino.Type.i4))
            scales = problem.layer_scales(i, group).astype(np.float16).reshape(n, -1, 1)
            weight = opset13.multiply(opset13.convert(codes, "f16"), opset13.constant(scales))
            weight = opset13.convert(opset13.reshape(weight, np.array([n, k]), False), "f32")
            outputs.append(opset13.matmul(x, weight, False, True))
        compiled = openvino.Core().compile_model(openvino.Model(outputs, [x]), "CPU",
                                                 {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1})

        def bind(m):
            request, rows = compiled.create_infer_request(), np.ascontiguousarray(problem.x[:m])
            request.set_input_tensor(openvino.Tensor(rows, shared_memory=True))
            return Bound(lambda: request.infer(share_outputs=True),
                         lambda: [request.get_output_tensor(i).data for i in range(copies)], (rows, memory))

        return bind

    for group in (128, 32):  # it chooses the precision of x itself: 8-bit integers at the coarsest
        yield Contender(f"openvino int4 g{group}", "int8", group, 4 + 16 / group,
                        lambda p, c, g=group: load(p, c, g))


def vllm(threads, _):
    """vLLM's kernel for GPTQ weights and bf16 activations, without the rest of its package."""
    import torch
    found = importlib.util.find_spec("vllm")
    if found is None:
        raise Missing("No module named 'vllm'")
    capability = torch.backends.cpu.get_cpu_capability()
    bf16 = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)()
    suffix = "" if bf16 else "_AVX512" if capability == "AVX512" else "_AVX2"
    torch.ops.load_library(os.path.join(found.submodule_search_locations[0], f"_C{suffix}.abi3.so"))
    if not hasattr(torch.ops._C, "cpu_gemm_wna16"):
        raise Missing(f"its wheel has no int4 kernel (cpu_gemm_wna16) for {capability}")
    torch.set_num_threads(threads)
    isa = "amx" if torch.cpu._is_amx_tile_supported() else "vec"

    def load(problem, copies, group):
        n, k = problem.shape

        def call(i):
            # Words of eight columns' codes, [N / 16, K, 2].
            codes = problem.layer_codes(i).T.reshape(k, n // 16, 2, 8).astype(np.uint32)
            words = np.bitwise_or.reduce(codes << np.arange(0, 32, 4, dtype=np.uint32), axis=-1).transpose(1, 0, 2)
            weight = torch.from_numpy(words.reshape(n // 16, -1).astype(np.int32))
            scales = torch.from_numpy(np.ascontiguousarray(problem.layer_scales(i, group).T)).bfloat16()

            def multiply(x):
                y = torch.empty((x.shape[0], n), dtype=x.dtype)
                torch.ops._C.cpu_gemm_wna16(x, weight, y, scales, None, None, 8, isa)
                return y

            return multiply

        return torch_bind(problem, torch.bfloat16, [call(i) for i in range(copies)])

    for group in (128, 32):
        yield Contender(f"vllm int4 g{group} bf16", "bf16", group, 4 + 16 / group, lambda p, c, g=group: load(p, c, g))


ENGINES = {engine.__name__: engine for engine in (edgeq, torch, onnxruntime, openvino, vllm)}
