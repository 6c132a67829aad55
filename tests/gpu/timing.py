#!/usr/bin/env python3
"""timing.py GPU_CHECK PEAK TOPOLOGY.json ... [--images N] [--batches N,N] [--seconds N]: runtime eager on the GPU beside PyTorch eager,
the same weights and images, logits compared first, then in turn: medians of 7 rounds (fewer, and it says so, when the seconds run out).
PEAK prints what the device can do at best. Prints tables as in bench/RESULTS.md. Needs Python alone; PyTorch is left out where it is not."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS, LEAST_ROUNDS = 7, 3


class Server:
    """A program that answers a line with a line."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        said = self.process.stdout.readline().strip()
        if not said or self.process.poll() not in (None, 0):
            raise EOFError(said or "no answer")
        return said

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Torch:
    def __init__(self, folder):
        self.genome = os.path.join(folder, "genome.json")
        self.server = Server(sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_eager.py"))
        try:
            said = self.server.ask("tf32 0")
        except EOFError as problem:
            said = str(problem)
        self.why_not = "" if said == "ok" else said

    def load(self, path, images, batch):
        self.server.ask("tf32 0")
        return logits_of(self.server.ask(f"load {path} {images} {batch} {self.genome}"))

    def run(self, is_tf32):
        self.server.ask(f"tf32 {int(is_tf32)}")
        return float(self.server.ask("run"))


def logits_of(line):
    return [float(word) for word in line.split()[1:]]


def agree(ours, theirs):
    largest = max(1, *(abs(value) for value in ours))
    return all(abs(a - b) <= 1e-3 * largest for a, b in zip(ours, theirs))


def measure(hox, torch, given, path, batch, until):
    """Name of a contender -> seconds of each round; and MFLOP an image."""
    genome = path
    if not torch.why_not:
        theirs = torch.load(path, given.images, batch)
        genome = torch.genome
    loaded = hox.ask(f"load {genome} {given.images} {batch} 1")
    mflop, *ours = logits_of(loaded)
    if not torch.why_not and not agree(ours, theirs):
        sys.exit(f"{path}: PyTorch finds {theirs[:4]}, hox {ours[:4]}")
    times = {"eager": []}
    if not torch.why_not:
        times |= {"torch fp32": [], "torch tf32": []}
        torch.run(True)
    for done in range(ROUNDS):
        if done >= LEAST_ROUNDS and time.monotonic() > until:
            break
        times["eager"].append(float(hox.ask("run")))
        if not torch.why_not:
            times["torch fp32"].append(torch.run(False))
            times["torch tf32"].append(torch.run(True))
    hox.ask(f"load {genome} {given.images} {batch} 2")
    times["eager, 2 lanes"] = [float(hox.ask("run")) / 2 for _ in range(LEAST_ROUNDS)]
    return times, mflop


def print_rows(name, batch, times, mflop, images, peak):
    for contender, seconds in times.items():
        speed = images / statistics.median(seconds)
        tflops = speed * mflop * 1e-6
        ratios = [theirs / ours for theirs, ours in zip(seconds, times["eager"])]
        print(f"| {name} | {mflop:.2f} | {batch} | {contender} | {speed:.0f} | {tflops:.2f} | {100 * tflops / peak:.1f} % | "
              f"{statistics.median(ratios):.2f} | {len(seconds)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gpu_check")
    parser.add_argument("peak")
    parser.add_argument("topologies", nargs="+")
    parser.add_argument("--images", type=int, default=25000)
    parser.add_argument("--batches", default="45000,4096")
    parser.add_argument("--seconds", type=float, default=80)
    given = parser.parse_args()
    until = time.monotonic() + given.seconds
    best = dict(line.split() for line in subprocess.run([given.peak], check=True, capture_output=True, text=True).stdout.splitlines())
    peak = float(best["fma_tflops"])
    print(f"Multiply-adds on registers alone: {peak:.2f} TFLOP/s; copying: {float(best['copy_gbs']):.0f} GB/s. {given.images} images.\n")
    batches = [int(batch) for batch in given.batches.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        hox, torch = Server(given.gpu_check, "serve"), Torch(folder)
        if torch.why_not:
            print(f"PyTorch eager is left out: {torch.why_not}\n")
        print("| topology | MFLOP | batch | contender | images/s | TFLOP/s | of the FMA peak | eager is x faster | rounds |")
        print("|---|---|---|---|---|---|---|---|---|")
        parts = len(given.topologies) * len(batches)
        for done, (path, batch) in enumerate((path, batch) for path in given.topologies for batch in batches):
            share = time.monotonic() + max(0, until - time.monotonic()) / (parts - done)
            times, mflop = measure(hox, torch, given, path, batch, share)
            print_rows(os.path.basename(path).removesuffix(".json"), batch, times, mflop, given.images, peak)
        hox.close()
        torch.server.close()


if __name__ == "__main__":
    main()
