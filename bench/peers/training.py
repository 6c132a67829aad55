#!/usr/bin/env python3
"""training.py BENCH_TRAIN THREADS TOPOLOGY.json ...: steps of training (forward, binary cross-entropy on logits, backward; no
optimizer) of hox beside PyTorch (eager, channels-last, torch.compile) on the same genome, images and weights. Checks that gradients
agree, then times them in turn: medians of the rounds and medians of the ratios within a round. Needs numpy and torch."""

import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch

from compare import Topology, torch_model
from gradients import BATCH, batch_of, check, loss_of

ROUNDS = 7
SECONDS = 1.5  # of a contender in a round


def steps_flop(topology):
    """Of an image: forward, by the weights, and by the source where that is no image."""
    return sum(topology.edge_flop(edge) * (2 if edge["from"] == topology.input else 3) for _, edge in topology.edges)


def peers(topology):
    """name -> a function that runs one step."""
    pixels, targets = batch_of(topology)

    def stepper(model, x, wrap=lambda f: f):
        loss = wrap(lambda: loss_of(topology, model, x, targets))

        def step():
            model.zero_grad()
            loss().backward()
        return step

    torch._dynamo.reset()
    last = torch_model(topology, has_bias=True).train().to(memory_format=torch.channels_last)
    return {"torch eager": stepper(torch_model(topology, has_bias=True).train(), pixels),
            "torch channels-last": stepper(last, pixels.to(memory_format=torch.channels_last)),
            "torch.compile": stepper(torch_model(topology, has_bias=True).train(), pixels, torch.compile)}


def speed_of(step):
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        step()
        count += BATCH
    return count / (time.perf_counter() - start)


def run_hox(program, genome, runtime, lanes):
    words = [program, runtime, str(lanes), genome, str(SECONDS)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def measure(program, topology, genome, threads):
    speeds, peaks, contenders = collections.defaultdict(list), [], {}
    for name, step in peers(topology).items():
        try:
            step()
            step()
            contenders[name] = step
        except Exception as problem:  # torch.compile without a compiler
            print(f"{name} is left out: {str(problem)[:120]}")
    for _ in range(ROUNDS):
        result = run_hox(program, genome, "fused", threads)
        speeds["fused"].append(result["images_per_second"])
        peaks.append(result["peak_gflops"])
        for name, step in contenders.items():
            speeds[name].append(speed_of(step))
    return speeds, statistics.median(peaks)


def compare(program, topology, threads, genome):
    topology.write(genome)
    check(program, topology, genome, "fused")
    speeds, peak = measure(program, topology, genome, threads)
    flop = steps_flop(topology)
    for name, values in speeds.items():
        ratio = statistics.median(a / b for a, b in zip(speeds["fused"], values))
        speed = statistics.median(values)
        print(f"| {topology.name} | {flop / 1e6:.2f} | {BATCH} | {threads} | {name} | {speed:.0f} | {speed * flop / 1e9:.1f} | "
              f"{100 * speed * flop / 1e9 / peak:.0f} % | {ratio:.1f} |", flush=True)


def main():
    program, threads = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    print("| topology | MFLOP a step's image | batch | threads | contender | images/s | GFLOP/s | of the peak | fused is x faster |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[3:]:
            compare(program, Topology(path), threads, os.path.join(folder, "genome.json"))


if __name__ == "__main__":
    main()
