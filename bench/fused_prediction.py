#!/usr/bin/env python3
"""fused_prediction.py GPU_CHECK TOPOLOGY.json ...: how long runtime fused takes on an H200, by arithmetic; prints a markdown table.
What stands behind it: docs/decisions/0012-fused-on-cuda.md.

GPU_CHECK: tests/gpu/gpu_check of a build, which knows the edges of a topology."""

import collections
import csv
import math
import subprocess
import sys

IMAGES, GENOMES, TILE, BLOCKS, WARPS, SCHEDULERS = 25000, 128, 4, 2, 8, 4
PROCESSORS, CLOCK = 132, 1.755e9
EFFICIENCY = 0.85               # of issuing, as in 0011; assumed
SHARED, CACHE = 30, 120         # cycles a few taps wait: maps in shared memory, images in the caches; assumed
STEP = 1100                     # cycles a block waits a step: the step itself, copying weights, barriers; assumed
CURVE = 60                      # instructions a value
HALVING = 40                    # cycles that adding parts once takes beside two instructions a value; assumed
PEAK = 2 * PROCESSORS * SCHEDULERS * 32 * CLOCK

# Counted in the machine code of sm_90: instructions of a warp for a tap, a row of taps, a tile of the target; taps at once.
Code = collections.namedtuple("Code", "channels pixels tap row tile steps")
CODES = [Code(3, 8, 29.8, 65, 666, 4), Code(3, 4, 16, 60, 420, 4), Code(3, 1, 6, 50, 231, 8),
         Code(8, 4, 37, 65, 874, 4), Code(8, 1, 11.9, 50, 368, 8)]


def tiles(code, edge):
    return math.ceil(edge["target_channels"] / code.channels) * math.ceil(edge["target_width"] / code.pixels) * edge["target_height"]


def cost(code, halvings, edge):
    """As tile_program.c counts."""
    values = code.channels * code.pixels
    rows = math.ceil(edge["source_channels"] * edge["kernel_h"] / 2**halvings)
    part = rows * (edge["kernel_w"] * (values + 2 * math.ceil(code.channels / 4) + 4) + 60)
    return math.ceil((tiles(code, edge) << halvings) / 32) * (part + 2 * halvings * values)


def choose(edge):
    """Code, and how often a tile is halved: as tile_program.c does."""
    ways = [(code, halvings) for halvings in range(4) for code in CODES if halvings == 0 or tiles(code, edge) << halvings <= 64]
    return min(ways, key=lambda way: cost(*way, edge))


def flops(edge):
    return (2 * edge["source_channels"] * edge["kernel_h"] * edge["kernel_w"] * edge["target_channels"] * edge["target_height"] *
            edge["target_width"] * IMAGES)


def times(edge):
    """Cycles of a block's step: what it issues on a processor, and how long it takes by itself."""
    if edge["kernel_h"] == 0:
        values = edge["target_channels"] * edge["target_height"] * edge["target_width"] * TILE
        issue = math.ceil(values / 32) * CURVE
        return issue / SCHEDULERS, issue / SCHEDULERS + 300
    code, halvings = choose(edge)
    warps = math.ceil((tiles(code, edge) << halvings) / (32 / TILE))
    met = sum(0 <= y * edge["stride_h"] + k - edge["padding_h"] < edge["source_height"] for y in range(edge["target_height"])
              for k in range(edge["kernel_h"])) / edge["target_height"]
    rows = edge["source_channels"] * met
    if halvings > 0:
        rows = math.ceil(rows / 2**halvings)
    one = rows * (edge["kernel_w"] * code.tap + code.row) + code.tile + halvings * (2 * code.channels * code.pixels + HALVING)
    groups = rows * (edge["kernel_w"] // code.steps + edge["kernel_w"] % code.steps)
    wait = (groups + rows) * (CACHE if edge["source_height"] == 32 else SHARED)
    issue = warps * one + WARPS * 150
    return issue / SCHEDULERS, max(math.ceil(warps / SCHEDULERS) * one, math.ceil(warps / WARPS) * (one + wait)) + STEP


def genome(edges):
    """Seconds: where two blocks fill each other's gaps, and where each step is as slow as its worse half; share of waiting."""
    steps = [times(edge) for edge in edges]
    busy = [BLOCKS * issue / EFFICIENCY for issue, _ in steps]
    alone = [latency for _, latency in steps]
    rounds = math.ceil(math.ceil(IMAGES / TILE) / (PROCESSORS * BLOCKS))
    best, worst = max(sum(busy), sum(alone)), sum(map(max, busy, alone))
    waiting = sum(b for a, b in zip(busy, alone) if b > a) / worst
    return rounds * best / CLOCK, rounds * worst / CLOCK, waiting


def main():
    said = subprocess.run([sys.argv[1], "edges", str(IMAGES), *sys.argv[2:]], check=True, capture_output=True, text=True).stdout
    topologies = collections.defaultdict(list)
    for row in csv.DictReader(said.splitlines()):
        name, kernel = row.pop("topology"), row.pop("kernel")
        if kernel != "read_out":
            topologies[name.split("/")[-1].removesuffix(".json")].append({key: int(value) for key, value in row.items()})
    print("| topology | MFLOP an image | ms a genome | images/s | TFLOP/s | of the FMA peak | time in steps that wait | 128 genomes: s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, edges in topologies.items():
        best, worst, waiting = genome(edges)
        work = sum(flops(edge) for edge in edges)
        print(f"| {name} | {work / IMAGES / 1e6:.2f} | {best * 1e3:.2f} .. {worst * 1e3:.2f} | {IMAGES / worst / 1e6:.1f} M | "
              f"{work / worst / 1e12:.1f} | {100 * work / worst / PEAK:.0f} .. {100 * work / best / PEAK:.0f} % | {100 * waiting:.0f} % | "
              f"{GENOMES * best:.2f} .. {GENOMES * worst:.2f} |")


if __name__ == "__main__":
    main()
