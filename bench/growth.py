#!/usr/bin/env python3
"""growth.py HOX TOPOLOGY.json: how the time of an evaluation grows with nodes, images, batch, threads and genomes, as tables
for bench/RESULTS.md. The topology serves for images, batch and threads; nodes come in chains of one size, genomes from runs on stripes."""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 7


def bench(hox, genome, *options):
    words = [hox, "bench", genome, "--json", "--rounds", str(ROUNDS), *map(str, options)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[0]


def row(*cells):
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head(*names):
    print()
    row(*names)
    row(*["---"] * len(names))


def chain(path, nodes):
    """A topology: image, nodes of 16 x 16 in a row, one pixel."""
    sizes = [32] + [16] * nodes + [1]
    ids = [0, *range(2, nodes + 2), 1]
    edges = [{"from": ids[i], "to": ids[i + 1], "kernel": 5 if a == b else a - b + 1, "padding": 2 if a == b else 0, "stride": 1,
              "enabled": True} for i, (a, b) in enumerate(zip(sizes, sizes[1:]))]
    path.write_text(json.dumps({
        "input": [3, 32, 32], "input_node": 0, "output_node": 1, "activation": "relu", "output_readout": "mean",
        "nodes": [{"id": i, "size": size} for i, size in zip(ids, sizes)], "edges": edges}), encoding="utf-8")
    return path


def nodes(hox, folder):
    head("nodes", "MFLOP", "fused: us an image", "us a MFLOP", "graph: us an image")
    for count in (1, 2, 4, 8, 16, 32, 60):
        found = bench(hox, chain(folder / "chain.json", count), "-r", "fused", "-r", "graph", "--lanes", 1, "--images", 2048)
        fused, graph = (1e6 / r["images_per_second"] for r in found["runtimes"])
        row(count, f"{found['mflop_per_image']:.2f}", f"{fused:.1f}", f"{fused / found['mflop_per_image']:.1f}", f"{graph:.1f}")


def images(hox, genome):
    head("images", "fused: ms", "us an image")
    for count in (16, 64, 256, 1024, 4096, 16384, 65536):
        found = bench(hox, genome, "-r", "fused", "--lanes", 1, "--images", count)["runtimes"][0]
        row(count, f"{1e3 * found['seconds']:.2f}", f"{1e6 * found['seconds'] / count:.1f}")


def batches(hox, genome):
    head("batch", "lanes", "fused: images/s", "of the peak", "graph: images/s", "of the peak")
    for batch in (64, 128, 256, 512, 1024, 2048, 4096):
        for lanes in (1, 2):
            found = bench(hox, genome, "-r", "fused", "-r", "graph", "--lanes", lanes, "--batch", batch, "--images", 16384)
            fused, graph = found["runtimes"]
            row(batch, lanes, f"{fused['images_per_second']:.0f}", f"{100 * fused['share_of_peak']:.0f} %",
                f"{graph['images_per_second']:.0f}", f"{100 * graph['share_of_peak']:.0f} %")


def genomes(hox, folder):
    head("genomes", "evaluation: s a generation", "ms a genome", "the rest: ms a generation")
    example = pathlib.Path(__file__).resolve().parent.parent / "examples" / "synthetic.json"
    for count in (16, 32, 64, 128, 256, 512):
        out = folder / f"run{count}"
        subprocess.run([hox, "run", example, "--quiet", "--out", out, "--set", f"evolution.population_size={count}", "--set",
                        "stop.max_generations=8", "--set", "evaluation.forward_runtime=fused"], check=True, stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in open(out / "metrics.jsonl", encoding="utf-8")][2:]
        seconds = statistics.median(line["evaluate_seconds"] for line in lines)
        rest = statistics.median(line["evolve_seconds"] + line["write_seconds"] for line in lines)
        row(count, f"{seconds:.3f}", f"{1e3 * seconds / count:.2f}", f"{1e3 * rest:.1f}")


def main():
    hox, genome = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        nodes(hox, folder)
        images(hox, genome)
        batches(hox, genome)
        genomes(hox, folder)


main()
