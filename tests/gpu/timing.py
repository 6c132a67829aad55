#!/usr/bin/env python3
"""timing.py GPU_CHECK PEAK TOPOLOGY.json ... [--images N] [--batches N,N] [--seconds N]: the runtimes on the GPU beside PyTorch (eager,
CUDA graphs, torch.compile) with the same weights and images, and populations of 128 genomes. Logits are compared first, then all run in
turn: medians of 7 rounds (fewer, and it says so, when the seconds run out). PEAK prints what the device can do at best. Prints tables as
in bench/RESULTS.md, and the targets at the end. Needs Python alone; PyTorch is left out where it is not. Status 1: wrong logits."""

import argparse
import collections
import itertools
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS, LEAST_ROUNDS = 7, 3
HOX = ("eager", "graph", "fused")
# Name, mode, TF32, how far from the largest logit it may be.
TORCH = (("torch fp32", "eager", "0", 1e-3), ("torch tf32", "eager", "1", 2e-2),
         ("torch graph fp32", "graph", "0", 1e-3), ("torch graph tf32", "graph", "1", 2e-2))
COMPILED = ("torch.compile fp32", "compile", "0", 1e-3)
POPULATION, POPULATION_IMAGES = 128, 40000
# Name, runtime, lanes.
POPULATIONS = (("eager, 2 lanes", "eager", 2), ("fused, 1 lane", "fused", 1), ("fused, 2 lanes", "fused", 2))
# Of the faster one, how many times as fast, as which.
TARGETS = (("fused", 10, "torch fp32"), ("fused", 10, "torch tf32"), ("fused", 4, "torch graph fp32"), ("fused", 4, "torch graph tf32"),
           ("graph", 3, "torch fp32"), ("graph", 3, "torch tf32"))
SHARE_TARGET, SECONDS_TARGET = 40, 2
GRACE = 10  # seconds, for what was begun in time
# Parts of the time by whose end a table has to be there; compiling has the rest.
RACES_END, POPULATIONS_END = 0.45, 0.7


class Lost(Exception):
    """A contender that is not there any more."""


class Contender:
    """A program that says "ready" and then answers a line with a line."""

    def __init__(self, name, command, tolerance=1e-3, lanes=1, genomes=1, genome_file=None):
        self.name, self.tolerance, self.passes, self.writes = name, tolerance, lanes * genomes, genome_file is not None
        self.tail = genome_file or f"{lanes} {genomes}"
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.is_ready = False

    def hear(self, until):
        if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
            self.process.kill()
            raise Lost("out of time")
        said = self.process.stdout.readline().strip()
        if not said:
            raise Lost(f"it ended, status {self.process.wait()}")
        return said

    def ask(self, line, until):
        if not self.is_ready:
            said = self.hear(until)
            self.is_ready = said == "ready"
            if not self.is_ready:
                raise Lost(said)
        try:
            print(line, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        return self.hear(until)

    def load(self, path, images, batch, until):
        """MFLOP an image and logits; and the seconds it took."""
        start = time.monotonic()
        said = self.ask(f"load {path} {images} {batch} {self.tail}", until)
        if not said.startswith("loaded "):
            raise ValueError(said)
        mflop, *logits = [float(word) for word in said.split()[1:]]
        return mflop, logits, time.monotonic() - start

    def run(self, until):
        said = self.ask("run", until)
        try:
            return float(said)
        except ValueError:
            raise ValueError(said) from None

    def close(self):
        try:
            self.process.stdin.close()
            self.process.wait(5)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()


def agree(right, found, tolerance):
    largest = max(1, *(abs(value) for value in right))
    return all(abs(a - b) <= tolerance * largest for a, b in zip(right, found))


class Field:
    """Contenders that race each other; who fails at something is out of that race, who is lost of all. Failures of ours count."""

    def __init__(self, contenders, end):
        self.contenders, self.end, self.limit = contenders, end, end + GRACE
        self.notes, self.failure_count = [], 0

    def drop(self, contender, topology, why):
        if isinstance(why, Lost):
            self.contenders.remove(contender)
        self.notes.append(f"{topology}: {contender.name} is left out: {why}")
        # Our own must not fail, nor may anybody find other logits.
        self.failure_count += not contender.writes or str(why).startswith("WRONG")

    def load(self, path, images, batch, write_until):
        """Contender -> (MFLOP, logits, seconds), those who can write the genome first, for all load the same; only who is right."""
        topology, loaded = name_of(path), {}
        for contender in sorted(self.contenders, key=lambda c: not c.writes):
            written = next((c.tail for c in loaded if c.writes), path)
            try:
                genome, until = (path, write_until) if contender.writes else (written, self.limit)
                loaded[contender] = contender.load(genome, images, batch, until)
            except (Lost, ValueError) as why:
                self.drop(contender, topology, why)
        judges = [c for c in loaded if not c.writes] or list(loaded)
        for contender in list(loaded):
            right, found = loaded[judges[0]][1], loaded[contender][1]
            if not agree(right, found, contender.tolerance):
                self.drop(contender, topology, f"WRONG logits: {found[:4]}, {judges[0].name} has {right[:4]}")
                del loaded[contender]
        return loaded

    def race(self, path, images, batch, until, write_until=None):
        """Contender -> seconds of each round, of one genome over all images; and what load found."""
        loaded = self.load(path, images, batch, write_until or self.limit)
        times = {contender: [] for contender in self.contenders if contender in loaded}
        for done in range(ROUNDS):
            if time.monotonic() > (until if done >= LEAST_ROUNDS else self.end):
                break
            for contender in list(times):
                try:
                    times[contender].append(contender.run(self.limit) / contender.passes)
                except (Lost, ValueError) as why:
                    del times[contender]
                    self.drop(contender, name_of(path), why)
        return {contender: seconds for contender, seconds in times.items() if seconds}, loaded

    def tell(self):
        for note in ["", *self.notes, ""] if self.notes else [""]:
            print(note, flush=True)
        self.notes = []

    def close(self):
        for contender in self.contenders:
            contender.close()


def name_of(path):
    return os.path.basename(path).removesuffix(".json")


def median_ratio(slow, fast):
    """Of rounds beside each other: a round that all of them ran on a slower clock counts as any other."""
    return statistics.median(theirs / ours for theirs, ours in zip(slow, fast))


class Table:
    def __init__(self, given, peak):
        self.given, self.peak = given, peak
        self.marks = collections.defaultdict(list)  # target -> (value, is reached) for each row

    def rates(self, seconds, mflop, images):
        speed = images / statistics.median(seconds)
        tflops = speed * mflop * 1e-6
        return f"{speed:.0f} | {tflops:.2f} | {100 * tflops / self.peak:.1f} %", 100 * tflops / self.peak

    def mark(self, target, value, is_reached):
        self.marks[target].append((value, is_reached))

    def print_race(self, path, batch, times, loaded, only=None):
        by_name = {contender.name: seconds for contender, seconds in times.items()}
        for contender, seconds in times.items():
            if only and contender.name != only:
                continue
            rates, share = self.rates(seconds, loaded[contender][0], self.given.images)
            ratios = [f"{median_ratio(seconds, by_name[name]):.2f}" if name in by_name else "-" for name in HOX]
            took = f" (ready in {loaded[contender][2]:.0f} s)" if only else ""
            print(f"| {name_of(path)} | {loaded[contender][0]:.2f} | {min(batch, self.given.images)} | {contender.name}{took} | {rates} | "
                  f"{' | '.join(ratios)} | {len(seconds)} |", flush=True)
            if contender.name == "fused":
                self.mark(f"fused: {SHARE_TARGET} % of the peak", share, share >= SHARE_TARGET)
        for fast, least, slow in TARGETS:
            if fast in by_name and slow in by_name:
                ratio = median_ratio(by_name[slow], by_name[fast])
                self.mark(f"{fast}: {least} x {slow}", ratio, ratio >= least)

    def print_population(self, path, times, loaded):
        for contender, seconds in times.items():
            rates, share = self.rates(seconds, loaded[contender][0], POPULATION_IMAGES)
            whole = statistics.median(seconds) * POPULATION
            print(f"| {name_of(path)} | {contender.name} | {whole:.3f} | {rates} | {len(seconds)} |", flush=True)
            if contender.name.startswith("fused"):
                self.mark(f"{contender.name}: {POPULATION} genomes in {SECONDS_TARGET} s", whole, whole < SECONDS_TARGET)
                self.mark(f"{contender.name}, {POPULATION} genomes: {SHARE_TARGET} % of the peak", share, share >= SHARE_TARGET)

    def print_targets(self):
        print("| target | least | median | most | reached |\n|---|---|---|---|---|")
        for target, marks in self.marks.items():
            values = [value for value, _ in marks]
            print(f"| {target} | {min(values):.2f} | {statistics.median(values):.2f} | {max(values):.2f} | "
                  f"{sum(reached for _, reached in marks)} of {len(marks)} |", flush=True)


def each_in_time(parts, until):
    """The parts, each with the moment by which it should be done, as long as there is time."""
    for done, part in enumerate(parts):
        now = time.monotonic()
        if now > until:
            print(f"\nOut of time: {len(parts) - done} of {len(parts)} are missing.", flush=True)
            return
        yield part, now + (until - now) / (len(parts) - done)


RACE_HEAD = ("| topology | MFLOP | batch | contender | images/s | TFLOP/s | of the FMA peak | eager is x faster | graph is x faster | "
             "fused is x faster | rounds |\n|---|---|---|---|---|---|---|---|---|---|---|")


def hox_contender(given, runtime, **how):
    return Contender(how.pop("name", runtime), [given.gpu_check, "serve", runtime], **how)


def torch_contender(name, mode, tf32, tolerance, genome):
    peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_peer.py")
    return Contender(name, [sys.executable, "-B", peer, mode, tf32], tolerance, genome_file=genome)


def race_all(given, table, genome, until, end):
    field = Field([hox_contender(given, runtime) for runtime in HOX] + [torch_contender(*row, genome) for row in TORCH], end)
    print(RACE_HEAD)
    parts = list(itertools.product(given.topologies, map(int, given.batches.split(","))))
    for (path, batch), share in each_in_time(parts, until):
        table.print_race(path, batch, *field.race(path, given.images, batch, share))
    field.tell()
    field.close()
    return field.failure_count


def race_populations(given, table, until, end):
    field = Field([hox_contender(given, runtime, name=name, lanes=lanes, genomes=POPULATION // lanes)
                   for name, runtime, lanes in POPULATIONS], end)
    print(f"{POPULATION} genomes of a topology with different weights, {POPULATION_IMAGES} images, all at once; on 2 lanes half of them "
          "each; images/s: of all genomes.\n")
    print("| topology | contender | s | images/s | TFLOP/s | of the FMA peak | rounds |\n|---|---|---|---|---|---|---|")
    for path, share in each_in_time(given.topologies, until):
        table.print_population(path, *field.race(path, POPULATION_IMAGES, POPULATION_IMAGES, share))
    field.tell()
    field.close()
    return field.failure_count


def race_compiled(given, table, genome, until, end):
    """At one batch; who is compiling when the time is over gives up, so what compiles soonest comes first."""
    field = Field([hox_contender(given, runtime) for runtime in HOX] + [torch_contender(*COMPILED, genome)], end)
    print(RACE_HEAD)
    for path, share in each_in_time(given.topologies, until):
        if not any(contender.writes for contender in field.contenders):
            break
        table.print_race(path, given.images, *field.race(path, given.images, given.images, share, until), only=COMPILED[0])
    field.tell()
    field.close()
    return field.failure_count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gpu_check")
    parser.add_argument("peak")
    parser.add_argument("topologies", nargs="+")
    parser.add_argument("--images", type=int, default=25000)
    parser.add_argument("--batches", default="45000,5000")
    parser.add_argument("--seconds", type=float, default=200)
    given = parser.parse_args()
    start, end = time.monotonic(), time.monotonic() + given.seconds
    best = dict(line.split() for line in subprocess.run([given.peak], check=True, capture_output=True, text=True).stdout.splitlines())
    table = Table(given, float(best["fma_tflops"]))
    print(f"Multiply-adds on registers alone: {table.peak:.2f} TFLOP/s; copying: {float(best['copy_gbs']):.0f} GB/s. "
          f"{given.images} images.\n")
    with tempfile.TemporaryDirectory() as folder:
        genome = os.path.join(folder, "genome.json")
        failures = race_all(given, table, genome, start + RACES_END * given.seconds, end)
        failures += race_populations(given, table, start + POPULATIONS_END * given.seconds, end)
        table.print_targets()
        print()
        failures += race_compiled(given, table, genome, end, end)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
