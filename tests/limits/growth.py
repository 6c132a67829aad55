#!/usr/bin/env python3
"""growth.py HOX: a thousand generations of changed weights alone leave memory and open files where they were."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HOX = os.path.abspath(sys.argv[1])
GENERATIONS, SETTLED = 1000, 100
MOST_GROWTH = 1 << 20

EXPERIMENT = {
    "seed": 7,
    "dataset": {"plugin": "synthetic", "train_count": 80, "test_count": 20, "size": 8, "noise": 0.6},
    "task": {"positive_class": 0},
    "evolution": {
        "population_size": 16,
        "mutation": {name: 0 for name in ("add_edge", "add_node", "remove_edge", "remove_node", "toggle_edge",
                                          "resize_node", "channels", "activation")}},
    "stop": {"max_generations": GENERATIONS}}


def resident_bytes(process):
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def open_files(process):
    return len(os.listdir(f"/proc/{process}/fd"))


def generation_of(line):
    words = line.split()
    return int(words[1]) if words[:1] == ["generation"] else -1


def main():
    with tempfile.TemporaryDirectory(prefix="hox-growth-") as name:
        folder = pathlib.Path(name)
        (folder / "e.json").write_text(json.dumps(EXPERIMENT), encoding="utf-8")
        command = [HOX, "run", str(folder / "e.json"), "--out", str(folder / "run")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            seen = []  # generation, resident bytes, files
            for line in run.stderr:
                generation = generation_of(line)
                if generation >= SETTLED:
                    try:
                        seen.append((generation, resident_bytes(run.pid), open_files(run.pid)))
                    except OSError:  # it has ended
                        break
        if run.returncode != 0 or len(seen) < (GENERATIONS - SETTLED) // 2:
            sys.exit(f"the run ended with {run.returncode} after {len(seen)} generations seen")
        first, last = seen[0], max(seen, key=lambda one: one[1])
        growth = last[1] - first[1]
        files = [min(one[2] for one in part) for part in (seen[:50], seen[-50:])]  # others come and go at a save
        print(f"{first[1]} bytes resident after generation {first[0]}, at most {growth} more until {last[0]}; "
              f"{files[0]} files open, then {files[1]}")
        if growth > MOST_GROWTH or files[0] != files[1]:
            sys.exit("memory or open files grow")


main()
