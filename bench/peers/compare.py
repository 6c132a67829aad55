#!/usr/bin/env python3
"""compare.py HOX THREADS BATCH[,BATCH...] TOPOLOGY.json ...: hox beside PyTorch (eager, channels-last, torch.compile) and ONNX
Runtime on the same genomes, images and weights. Checks that all find the same logits, then times them in turn: medians of the rounds
and medians of the ratios within a round. What is not installed is left out with a line. Needs numpy; the peers come from PyPI."""

import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

ROUNDS = 7
IMAGES = 4096  # hox; a peer runs one batch, and its images a second count


class Topology:
    """The executed part, with weights drawn here, so that everybody has the same."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            raw = json.load(file)
        self.name = os.path.basename(path).removesuffix(".json")
        self.raw, self.input, self.output = raw, raw["input_node"], raw["output_node"]
        self.size = {node["id"]: node["size"] for node in raw["nodes"]}
        self.channels = {node["id"]: node.get("channels") or 3 for node in raw["nodes"]}
        edges = [(place, edge) for place, edge in enumerate(raw["edges"]) if edge["enabled"]]
        ahead = self.reach({self.input}, [(e["from"], e["to"]) for _, e in edges])
        behind = self.reach({self.output}, [(e["to"], e["from"]) for _, e in edges])
        self.edges = [(place, e) for place, e in edges if {e["from"], e["to"]} <= ahead & behind]
        self.order = self.sort(ahead & behind)
        draw = numpy.random.default_rng(0)
        self.weights, self.flop = {}, 0
        for place, edge in self.edges:
            inside, outside, side = self.channels[edge["from"]], self.channels[edge["to"]], edge["kernel"]
            scale = (2 / (inside * side * side)) ** 0.5 * (edge.get("scale") or 1)
            self.weights[place] = (draw.standard_normal((outside, inside, side, side)) * scale).astype(numpy.float32)
            self.flop += self.edge_flop(edge)

    def edge_flop(self, edge):
        inside, outside = self.channels[edge["from"]], self.channels[edge["to"]]
        return 2 * inside * outside * edge["kernel"] ** 2 * self.size[edge["to"]] ** 2

    @staticmethod
    def reach(start, arrows):
        found = set(start)
        while True:
            more = {to for origin, to in arrows if origin in found} - found
            if not more:
                return found
            found |= more

    def sort(self, nodes):
        order, left = [], set(nodes)
        while left:
            ready = min(n for n in left if all(e["from"] not in left for _, e in self.edges if e["to"] == n))
            order.append(ready)
            left.remove(ready)
        return order

    def write(self, path):
        """As hox-genome/1."""
        activation = self.raw["activation"] or "identity"
        plain = {self.input, self.output}
        nodes = sorted(self.order)
        rename = {self.input: 0, self.output: 1} | {n: 2 + i for i, n in enumerate(n for n in nodes if n not in plain)}
        genome = {
            "format": "hox-genome/1", "id": 1, "parents": [0, 0], "readout": self.raw["output_readout"],
            "nodes": [{"id": rename[n], "size": [self.channels[n], self.size[n], self.size[n]],
                       "activation": "identity" if n in plain else activation} for n in sorted(nodes, key=rename.get)],
            "edges": [{"innovation": place + 1, "from": rename[e["from"]], "to": rename[e["to"]], "enabled": True,
                       "kernel": [e["kernel"]] * 2, "stride": [e["stride"]] * 2, "padding": [e["padding"]] * 2,
                       "weights": [float(w) for w in self.weights[place].ravel()],
                       "bias": [0.0] * self.channels[e["to"]]} for place, e in self.edges]}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(genome, file)


def images(count, size):
    """As hox bench makes them up."""
    index = numpy.arange(count * int(numpy.prod(size)), dtype=numpy.uint64)
    bits = (index * 2654435761 & 0xFFFFFFFF).astype(numpy.uint32) >> 8
    return (bits.astype(numpy.float32) / numpy.float32(8388608) - numpy.float32(1)).reshape(count, *size)


def torch_model(topology, has_bias=False):
    import torch
    from torch.nn import functional
    act = {None: lambda x: x, "none": lambda x: x, "linear": lambda x: x, "identity": lambda x: x, "gelu": functional.gelu,
           "tanh": torch.tanh, "relu": torch.relu, "leaky_relu": functional.leaky_relu, "silu": functional.silu,
           "sigmoid": torch.sigmoid}[topology.raw["activation"]]

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kernels = torch.nn.ParameterList(torch.tensor(topology.weights[p]) for p, _ in topology.edges)
            self.biases = torch.nn.ParameterList(torch.zeros(topology.channels[e["to"]]) for _, e in topology.edges if has_bias)

        def forward(self, x):
            maps = {topology.input: x}
            for node in topology.order:
                if node == topology.input:
                    continue
                total = None
                for index, (_, edge) in enumerate(topology.edges):
                    if edge["to"] != node:
                        continue
                    part = functional.conv2d(maps[edge["from"]], self.kernels[index], self.biases[index] if has_bias else None,
                                             stride=edge["stride"], padding=edge["padding"])
                    total = part if total is None else total + part
                maps[node] = total if node == topology.output else act(total)
            return maps[topology.output].flatten(1)

    return Model().eval()


def read_out(topology, values):
    readout = topology.raw["output_readout"]
    if readout == "sum":
        return values.sum(1)
    mean = values.mean(1)
    if readout == "mean":
        return mean
    return mean - numpy.sort(values, axis=1)[:, (values.shape[1] - 1) // 2]


def peers(topology, batch, threads):
    """name -> a function that runs the batch and returns the output maps."""
    pixels = images(batch, (topology.channels[topology.input],) + (topology.size[topology.input],) * 2)
    found = {}
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: its modes are left out")
        return found
    torch.set_grad_enabled(False)
    torch.set_num_threads(threads)
    x = torch.tensor(pixels)
    model = torch_model(topology)
    found["torch eager"] = lambda: model(x).numpy()
    last, x_last = torch_model(topology).to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    found["torch channels-last"] = lambda: last(x_last).numpy()
    torch._dynamo.reset()
    compiled = torch.compile(torch_model(topology))
    found["torch.compile"] = lambda: compiled(x).numpy()
    try:
        import onnxruntime
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            torch.onnx.export(model, (x,), file.name, input_names=["x"], dynamo=False)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            session = onnxruntime.InferenceSession(file.name, options, providers=["CPUExecutionProvider"])
        found["ONNX Runtime"] = lambda: session.run(None, {"x": pixels})[0]
    except Exception as problem:  # a peer that cannot do it is left out
        print(f"ONNX Runtime is left out: {str(problem)[:120]}")
    return found


def run_hox(hox, genome, runtime, threads, batch):
    words = [hox, "bench", genome, "-r", runtime, "--lanes", str(threads), "--rounds", "1", "--json",
             "--images", str(max(IMAGES, batch * threads)), "--batch", str(batch)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[0]


def compare(hox, topology, batch, threads, folder):
    genome = os.path.join(folder, "genome.json")
    topology.write(genome)
    expected = numpy.array(run_hox(hox, genome, "fused", threads, batch)["runtimes"][0]["logits"])
    contenders = {}
    for name, run in peers(topology, batch, threads).items():
        try:
            found = read_out(topology, run())[:16]
        except Exception as problem:  # torch.compile without a compiler
            print(f"{name} is left out: {str(problem)[:120]}")
            continue
        if not numpy.allclose(found, expected[:len(found)], rtol=1e-3, atol=1e-3 * max(1, abs(expected).max())):
            sys.exit(f"{topology.name}: {name} finds {found[:4]}, hox {expected[:4]}")
        contenders[name] = run
    speeds, peaks = collections.defaultdict(list), []
    for _ in range(ROUNDS):
        for runtime in ("fused", "graph"):
            result = run_hox(hox, genome, runtime, threads, batch)
            speeds[runtime].append(result["runtimes"][0]["images_per_second"])
            peaks.append(result["peak_gflops"])
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            speeds[name].append(batch / (time.perf_counter() - start))
    for name, values in speeds.items():
        ratio = statistics.median(a / b for a, b in zip(speeds["fused"], values))
        speed = statistics.median(values)
        print(f"| {topology.name} | {topology.flop / 1e6:.2f} | {batch} | {threads} | {name} | {speed:.0f} | "
              f"{speed * topology.flop / 1e9:.1f} | {100 * speed * topology.flop / 1e9 / statistics.median(peaks):.0f} % | "
              f"{ratio:.1f} |", flush=True)


def main():
    hox, threads = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    print("| topology | MFLOP | batch | threads | contender | images/s | GFLOP/s | of the peak | fused is x faster |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[4:]:
            for batch in map(int, sys.argv[3].split(",")):
                compare(hox, Topology(path), batch, threads, folder)


if __name__ == "__main__":
    main()
