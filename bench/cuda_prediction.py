#!/usr/bin/env python3
"""cuda_prediction.py GPU_CHECK SASS TABLE TOPOLOGY.json ...: how long runtimes eager and graph take on an H200, by arithmetic; prints
two markdown tables. Formulae and what would prove them wrong: docs/decisions/0011-cuda-without-a-gpu.md.

GPU_CHECK: tests/gpu/gpu_check of a build, which knows the kernel of each edge. SASS: the machine code, 'cuobjdump --dump-sass
--gpu-architecture sm_90 kernels.fatbin'. TABLE: tests/golden/cuda_kernels.csv. With --edges also a row for each edge."""

import collections
import csv
import math
import re
import subprocess
import sys

IMAGES, GENOMES, LANES = 25000, 128, 2
BATCHES = (IMAGES, 1000)

# The device. Below "assumed": neither of the datasheet nor measured anywhere by us.
PROCESSORS, SCHEDULERS, REGISTERS, SHARED, BLOCKS, WARPS = 132, 4, 65536, 233472, 32, 64
CLOCKS = (1.755e9, 1.98e9)
DRAM, L2 = 4.3e12, 5.5e12      # bytes a second; DRAM as a copy reaches, L2 assumed
L2_KEEPS = 25e6                # bytes of a map that the next kernel still finds in the L2, assumed: half of it
SHARED_LATENCY, CACHE_LATENCY, DRAM_LATENCY = 30, 200, 650  # cycles; the second is a mix of L1 and L2; assumed
VECTOR_CYCLES = 4              # of the load unit, for 16 bytes a thread, though all read the same; assumed
EFFICIENCY = 0.85              # of whatever is busiest; assumed
LAUNCH = {"eager": 2.5e-6, "graph": 1.2e-6}  # seconds a kernel takes at least: the host's, and between nodes of a graph; assumed
START = {"eager": 0, "graph": 6e-6}          # host seconds of a batch: a graph's own launch, and telling it where the images are; assumed
FIXED = 40e-6                                # copies and waiting of a genome; assumed
THREADS, TAP_VECTORS = 128, 1024

Code = collections.namedtuple("Code", "steps tap row tile stage")  # taps of the inner loop; instructions of a warp


def shape(kernel):
    return tuple(map(int, re.search(r"(\d+)x(\d+)$", kernel).groups()))


def read_code(path):
    """Kernel -> Code, from the loops of its machine code: the innermost with FMAs runs for a few taps, the next one for a row of
    them. A sliding kernel has both kinds of row, inside the map and at its end, of which one is run."""
    found, listing = {}, {}
    for line in open(path, encoding="utf-8"):
        if name := re.search(r"Function : (\w+)", line):
            listing = found[name[1]] = {}
        elif instruction := re.match(r"\s+/\*([0-9a-f]{4,5})\*/\s+(.*?);", line):
            listing[int(instruction[1], 16)] = instruction[2]
    return {name: code_of(name, lines) for name, lines in found.items() if name.startswith("convolve")}


def code_of(name, listing):
    loops = []
    for end, text in listing.items():
        jump = re.search(r"\bBRA\b.* 0x([0-9a-f]+)", text)
        if jump and int(jump[1], 16) < end:
            body = [t for at, t in listing.items() if int(jump[1], 16) <= at <= end]
            loops.append((len(body), sum("FFMA" in t for t in body), any("STS" in t for t in body)))
    loops.sort()
    channels, pixels = shape(name)
    working = [loop for loop in loops if loop[1] > 0]
    kinds = 1 if "strided" in name else 2
    inner, rows = working[:kinds], next(loop for loop in working if loop[1] > working[0][1] * kinds or "point" in name)
    steps = 1 if "point" in name else inner[0][1] / (channels * pixels)
    in_loops = 0 if "point" in name else sum(size for size, _, _ in inner)
    stage = next(size for size, _, stores in loops if stores)
    rest = [t for t in listing.values() if not re.match(r"NOP|BRA 0x", t)]
    tap = channels * pixels if "point" in name else inner[0][0] / steps
    # In a row's code outside the loop stand the steps for taps that are left over; they count as taps.
    left_over = tap if "point" in name else (steps - 1) * tap
    return Code(steps, tap, (rows[0] - in_loops) / kinds - left_over, len(rest) - working[-1][0], stage)


class Edge:
    def __init__(self, row, batch, code, registers):
        self.kernel, self.blocks = row["kernel"], int(row["blocks"])
        for name, value in row.items():
            if name not in ("topology", "kernel", "blocks"):
                setattr(self, name, int(value))
        self.is_convolution = self.kernel.startswith("convolve")
        self.images = math.ceil(batch / 32)  # blocks of 32
        values = self.target_channels * self.target_height * self.target_width
        self.target_bytes = values * self.images * 128
        self.values = values * self.images
        self.flops = 0
        self.from_dram = self.target_bytes * (2 if self.kernel == "activate" else 1)  # a convolution counts its own
        if self.is_convolution:
            self.count(batch, code[self.kernel], registers[self.kernel])

    def count(self, batch, code, registers):
        channels, pixels = shape(self.kernel)
        groups = math.ceil(self.target_channels / channels)
        across = math.ceil(self.target_width / pixels)
        met = [sum(0 <= y * self.stride_h + k - self.padding_h < self.source_height for k in range(self.kernel_h))
               for y in range(self.target_height)]
        warps = groups * across * self.target_height * self.images
        rows = groups * across * self.images * self.source_channels * sum(met)
        taps = rows * self.kernel_w
        all_taps = self.source_channels * self.kernel_h * self.kernel_w
        vectors = math.ceil(channels / 4)
        self.flops = 2 * all_taps * self.target_channels * self.target_height * self.target_width * batch

        staged = sum(math.ceil(part / THREADS) for part in self.parts(all_taps, TAP_VECTORS // vectors))
        self.issue = taps * code.tap + rows * code.row + warps * (code.tile + staged * code.stage)
        per_row = {"point": pixels, "strided": pixels * self.kernel_w}.get(self.kind(), pixels + self.kernel_w - 1)
        pixel_loads = rows * per_row
        self.loads = taps * vectors * VECTOR_CYCLES + pixel_loads + self.values * (1 if self.is_first else 2)

        # A block's four warps stand side by side in a row, then below each other.
        columns = min(self.source_width, min(4, across) * pixels * self.stride_w + self.kernel_w - 1)
        below = max(1, 4 // across)
        lines = min(self.source_height, max(met) + (below - 1) * self.stride_h)
        self.from_l2 = self.blocks * self.source_channels * lines * columns * 128 + self.target_bytes
        source = self.source_channels * self.source_height * self.source_width * self.images * 128
        self.from_dram = self.target_bytes * (1 if self.is_first else 2) + (source * groups if source > L2_KEEPS else 0)

        # One warp on its own: a few taps at a time wait for their weights and newest pixels, those left over one by one.
        touches = max(1, pixel_loads / (source / 128))
        first = DRAM_LATENCY if source > L2_KEEPS else CACHE_LATENCY
        wait = max(0, (first + (touches - 1) * CACHE_LATENCY) / touches - channels * (pixels - 1))
        waits = rows * (self.kernel_w // code.steps + self.kernel_w % code.steps)
        per_wait = SHARED_LATENCY + (wait if self.kind() == "" else 0)
        per_row = code.row + first + (self.kernel_w * CACHE_LATENCY if self.kind() == "strided" else 0)
        alone = (taps * code.tap + waits * per_wait + rows * per_row) / warps + code.tile + DRAM_LATENCY
        self.resident = min(REGISTERS // (math.ceil(registers.registers / 8) * 8 * THREADS), SHARED // (registers.shared + 1024),
                            BLOCKS, WARPS // 4)
        self.waves = max(1, self.blocks / (PROCESSORS * self.resident))
        self.latency = alone * self.waves
        self.even = math.ceil(self.blocks / PROCESSORS) / (self.blocks / PROCESSORS)  # the busiest processor's share

    @staticmethod
    def parts(count, most):
        return [min(most, count - first) for first in range(0, count, most)]

    def kind(self):
        return next((kind for kind in ("point", "strided") if kind in self.kernel), "")

    def bounds(self, clock):
        """Bound -> seconds."""
        if not self.is_convolution:
            return {"memory": self.from_dram / DRAM / EFFICIENCY,
                    "issue": self.values * (60 if self.kernel == "activate" else 20) / (PROCESSORS * SCHEDULERS) / clock / EFFICIENCY}
        busy = self.even / PROCESSORS / clock / EFFICIENCY
        return {"issue": self.issue / SCHEDULERS * busy, "loads": self.loads * busy, "L2": self.from_l2 / L2 / EFFICIENCY,
                "memory": self.from_dram / DRAM / EFFICIENCY, "latency": self.latency / clock}

    def time(self, clock, runtime="eager"):
        """Seconds and what bounds them."""
        name, seconds = max(self.bounds(clock).items(), key=lambda item: item[1])
        return (seconds, name) if seconds > LAUNCH[runtime] else (LAUNCH[runtime], "launch")


def read_edges(program, batch, paths, code, registers):
    said = subprocess.run([program, "edges", str(batch), *paths], check=True, capture_output=True, text=True).stdout
    topologies = collections.defaultdict(list)
    for row in csv.DictReader(said.splitlines()):
        topologies[row["topology"].split("/")[-1].removesuffix(".json")].append(Edge(row, batch, code, registers))
    return topologies


def read_registers(path):
    Used = collections.namedtuple("Used", "registers shared")
    rows = csv.DictReader(line for line in open(path, encoding="utf-8") if not line.startswith("#"))
    return {r["kernel"]: Used(int(r["registers"]), int(r["shared_bytes"])) for r in rows if r["architecture"] == "sm_90"}


def genome_seconds(edges, clock, runtime="eager", batches=1):
    return batches * (sum(edge.time(clock, runtime)[0] for edge in edges) + START[runtime]) + FIXED


def generation_seconds(edges, clock, runtime="eager", batches=1):
    """A lane's waiting is another lane's turn; what a unit is busy with is not."""
    busy = sum(max(seconds for name, seconds in edge.bounds(clock).items() if name != "latency") for edge in edges)
    return GENOMES * max(batches * busy, genome_seconds(edges, clock, runtime, batches) / LANES)


def shares(edges, clock):
    sums = collections.Counter()
    for edge in edges:
        seconds, name = edge.time(clock)
        sums[name] += seconds
    total = sum(sums.values())
    return ", ".join(f"{name} {100 * seconds / total:.0f} %" for name, seconds in sums.most_common() if seconds > 0.03 * total)


def print_edges(name, edges):
    print(f"\n| {name} | kernel | blocks | per processor | us | bound | share of FMA |\n|---|---|---|---|---|---|---|")
    for e in edges:
        seconds, bound = e.time(CLOCKS[0])
        share = e.flops / seconds / (2 * PROCESSORS * SCHEDULERS * 32 * CLOCKS[0])
        size = f"{e.source_channels} x {e.source_width} -> {e.target_channels} x {e.target_width}, {e.kernel_w} wide"
        held = e.resident if e.is_convolution else ""
        print(f"| {size} | {e.kernel} | {e.blocks} | {held} | {seconds * 1e6:.0f} | {bound} | {100 * share:.0f} % |")


def print_batches(topologies, batch):
    """Both runtimes, all images in so many at once."""
    batches = math.ceil(IMAGES / batch)
    for name, edges in topologies.items():
        told = [f"{of(edges, CLOCKS[0], runtime, batches) * scale:.2f}" for of, scale in ((genome_seconds, 1e3), (generation_seconds, 1))
                for runtime in ("eager", "graph")]
        print(f"| {name} | {batch} | {' | '.join(told)} |")


def main():
    words = [word for word in sys.argv[1:] if word != "--edges"]
    code, registers = read_code(words[1]), read_registers(words[2])
    by_batch = {batch: read_edges(words[0], batch, words[3:], code, registers) for batch in BATCHES}
    topologies = by_batch[IMAGES]
    print("| topology | MFLOP an image | GB through memory | kernels | ms a genome | images/s | TFLOP/s | of the FMA peak | 128 genomes, 2 lanes: s | bound by |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, edges in topologies.items():
        slow, fast = (genome_seconds(edges, clock) for clock in CLOCKS)
        flops = sum(edge.flops for edge in edges)
        peak = 2 * PROCESSORS * SCHEDULERS * 32 * CLOCKS[0]
        generation = " .. ".join(f"{generation_seconds(edges, clock):.2f}" for clock in reversed(CLOCKS))
        bytes_moved = sum(edge.from_dram for edge in edges)
        print(f"| {name} | {flops / IMAGES / 1e6:.2f} | {bytes_moved / 1e9:.1f} | {len(edges)} | {fast * 1e3:.2f} .. {slow * 1e3:.2f} | {IMAGES / slow / 1e6:.1f} M | "
              f"{flops / slow / 1e12:.1f} | {100 * flops / slow / peak:.0f} % | {generation} | {shares(edges, CLOCKS[0])} |")
    print("\n| topology | batch | eager: ms a genome | graph | eager: 128 genomes, 2 lanes: s | graph |\n|---|---|---|---|---|---|")
    for batch in BATCHES:
        print_batches(by_batch[batch], batch)
    if "--edges" in sys.argv:
        for name, edges in topologies.items():
            print_edges(name, edges)


if __name__ == "__main__":
    main()
