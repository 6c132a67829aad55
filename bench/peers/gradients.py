#!/usr/bin/env python3
"""gradients.py BENCH_TRAIN TOPOLOGY.json ...: hox's gradient of mean binary cross-entropy over one batch, by each runtime, beside
PyTorch's autograd on the same genome, images and weights. Needs numpy and torch."""

import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
from torch.nn import functional

from compare import Topology, images, torch_model

BATCH = 128
RUNTIMES = ("eager", "fused")
ALLOWED = 1e-3  # of an edge's norm, and a thousandth of it of the largest edge's: what is zero in exact numbers


def read_out(topology, maps):
    """As compare.py's, with a gradient; torch's median is the lower middle too."""
    readout = topology.raw["output_readout"]
    if readout == "sum":
        return maps.sum(1)
    mean = maps.mean(1)
    return mean if readout == "mean" else mean - maps.median(1).values


def batch_of(topology):
    """Every second image is a one."""
    size = (topology.channels[topology.input],) + (topology.size[topology.input],) * 2
    return torch.tensor(images(BATCH, size)), torch.arange(BATCH).remainder(2).float()


def loss_of(topology, model, pixels, targets):
    return functional.binary_cross_entropy_with_logits(read_out(topology, model(pixels)), targets)


def torch_gradient(topology):
    """Place of an edge -> kernel and bias in one row; and the loss. In double: who differs from it is wrong."""
    pixels, targets = batch_of(topology)
    model = torch_model(topology, has_bias=True).double().train()
    loss = loss_of(topology, model, pixels.double(), targets.double())
    loss.backward()
    parts = zip(topology.edges, model.kernels, model.biases)
    return {place: numpy.concatenate([kernel.grad.numpy().ravel(), bias.grad.numpy()])
            for (place, _), kernel, bias in parts}, loss.item()


def hox_gradient(program, genome, runtime):
    words = [program, runtime, "1", genome, "0", "--gradient"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return {edge["innovation"] - 1: numpy.array(edge["gradient"]) for edge in found["edges"]}, found["loss"]


def check(program, topology, genome, runtime):
    """The worst edge's distance over its norm; ends the program where it is too large."""
    right, loss = torch_gradient(topology)
    found, found_loss = hox_gradient(program, genome, runtime)
    largest = max(numpy.linalg.norm(g) for g in right.values())
    worst = abs(loss - found_loss) / max(1, abs(loss))
    if found.keys() != right.keys():
        sys.exit(f"{topology.name}: {runtime} has other edges than PyTorch")
    for place, expected in right.items():
        scale = numpy.linalg.norm(expected) + 1e-3 * largest
        worst = max(worst, numpy.linalg.norm(found[place] - expected) / scale)
    if not worst <= ALLOWED:
        sys.exit(f"{topology.name}: {runtime}'s gradient is off by {worst:.2g} of PyTorch's")
    return worst


def main():
    program = os.path.abspath(sys.argv[1])
    print("| topology | edges | runtime | furthest from PyTorch in double, of an edge's norm |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        genome = os.path.join(folder, "genome.json")
        for path in sys.argv[2:]:
            topology = Topology(path)
            topology.write(genome)
            for runtime in RUNTIMES:
                print(f"| {topology.name} | {len(topology.edges)} | {runtime} | {check(program, topology, genome, runtime):.1e} |",
                      flush=True)


if __name__ == "__main__":
    main()
