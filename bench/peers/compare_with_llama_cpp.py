#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares generate's speed with llama.cpp's on the same file, prompt and threads, in turn, and prints the best of each.

Needs llama-cpp-python built on this machine (pip install llama-cpp-python --no-binary :all:). llama.cpp's own counters are
used, so Python costs it nothing; generate's come from its --json. Both decode greedily and never stop early.
"""
import argparse
import json
import subprocess

PROMPT = ("Explain to a curious child why the moon seems to change its shape during a month, what the words crescent, "
          "half and full mean, and how one can see at a glance whether it grows or shrinks tonight.")


def run_llama(llama, ctypes_api, tokens, count):
    """One prefill of `tokens` and `count` greedy steps: (prefill tok/s, decode tok/s)."""
    llama.reset()
    ctypes_api.llama_memory_clear(ctypes_api.llama_get_memory(llama.ctx), True)
    ctypes_api.llama_perf_context_reset(llama.ctx)
    llama.eval(tokens)
    for _ in range(count):
        logits = ctypes_api.llama_get_logits_ith(llama.ctx, -1)
        best = max(range(0, llama.n_vocab(), 4096), key=lambda i: logits[i])  # any token will do: speed is what counts
        llama.eval([best])
    perf = ctypes_api.llama_perf_context(llama.ctx)
    return perf.n_p_eval / perf.t_p_eval_ms * 1e3, perf.n_eval / perf.t_eval_ms * 1e3


def run_generate(arguments, threads, activation):
    """The same through generate: (prefill tok/s, decode tok/s)."""
    command = [arguments.generate, "--model", arguments.model, "--prompt", PROMPT, "--tokens", str(arguments.tokens + 1),
               "--threads", str(threads), "--activation", activation, "--ignore-eos", "--raw", "--json"]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result["prefill_tokens_per_second"], result["decode_tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generate", default="build/default/examples/generate")
    parser.add_argument("--model", default="models/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()

    import llama_cpp
    print(f"{'threads':>7}  {'engine':<18} {'prefill tok/s':>13} {'decode tok/s':>13}")
    for threads in arguments.threads:
        llama = llama_cpp.Llama(arguments.model, n_ctx=1024, n_batch=512, n_threads=threads, n_threads_batch=threads,
                                verbose=False)
        tokens = llama.tokenize(PROMPT.encode(), add_bos=False)
        best = {}
        for _ in range(arguments.rounds):
            runs = {"llama.cpp": run_llama(llama, llama_cpp, tokens, arguments.tokens)}
            for activation in ("int8", "int16"):
                runs[f"generate {activation}"] = run_generate(arguments, threads, activation)
            for name, speeds in runs.items():
                best[name] = tuple(map(max, best.get(name, (0, 0)), speeds))
        for name, (prefill, decode) in best.items():
            ratio = "" if name == "llama.cpp" else (
                f"   x{prefill / best['llama.cpp'][0]:.2f} prefill, x{decode / best['llama.cpp'][1]:.2f} decode")
            print(f"{threads:>7}  {name:<18} {prefill:>13.1f} {decode:>13.1f}{ratio}")


if __name__ == "__main__":
    main()
