#!/usr/bin/env python3
"""evolution_sets.py HOX FOLDER: full NEAT, the parameters of 2002 and mutation only, on stripes, five seeds each, the same number of
evaluations: monitor balanced accuracy against genomes evaluated. Prints a table for bench/RESULTS.md."""

import json
import pathlib
import statistics
import subprocess
import sys

SETS = ["neat_defaults", "neat_2002", "mutation_only"]
SEEDS = [1, 2, 3, 4, 5]
EVALUATIONS = [500, 1000, 1500, 2000]
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def best_so_far(folder):
    """(evaluations, best monitor score so far), a pair a generation."""
    best, pairs = 0.0, []
    for line in open(folder / "metrics.jsonl", encoding="utf-8"):
        row = json.loads(line)
        best = max(best, row["monitor"] or 0.0)
        pairs.append((row["evaluations"], best))
    return pairs


def at(pairs, evaluations):
    return max([score for count, score in pairs if count <= evaluations], default=0.0)


def run(hox, name, seed, folder):
    out = folder / f"{name}-{seed}"
    if not out.exists():
        subprocess.run([hox, "run", EXAMPLES / f"{name}.json", "--quiet", "--out", out, "--set", f"seed={seed}",
                        "--set", "dataset.train_count=1200", "--set", "dataset.test_count=300", "--set", "fitness.plugin=balanced_accuracy",
                        "--set", "evolution.population_size=50", "--set", "stop.max_generations=100000",
                        "--set", f"stop.max_evaluations={EVALUATIONS[-1]}"], check=True, stdout=subprocess.DEVNULL)
    return best_so_far(out)


def main():
    hox, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    scores = {name: [] for name in SETS}
    for seed in SEEDS:  # interleaved
        for name in SETS:
            scores[name].append(run(hox, name, seed, folder))
    print("| evaluations |", " | ".join(SETS), "|")
    print("|---|" + "---|" * len(SETS))
    for count in EVALUATIONS:
        cells = []
        for name in SETS:
            values = [at(pairs, count) for pairs in scores[name]]
            cells.append(f"{statistics.median(values):.4f} ({min(values):.4f}..{max(values):.4f})")
        print(f"| {count} |", " | ".join(cells), "|")


main()
