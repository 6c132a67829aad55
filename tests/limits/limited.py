#!/usr/bin/env python3
"""limited.py HOX RUNTIME: the same run in less and less memory, in a control group of its own where that can be made and under
an address-space limit, ends well with the same genomes, and is not killed. RUNTIME takes memory for all maps of a batch."""

import atexit
import filecmp
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

HOX, RUNTIME = (os.path.abspath(word) for word in sys.argv[1:3])
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hox-limited-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
MIB = 1 << 20

EXPERIMENT = {
    "seed": 7,
    "dataset": {"plugin": "synthetic", "train_count": 6000, "test_count": 1000, "size": 32, "noise": 0.6},
    "task": {"positive_class": 0},
    "evaluation": {"forward_runtime": RUNTIME, "eval_batch_size_min": 16, "batch_size": 16,
                   "fitness_eval_parallel": 2},
    "evolution": {"population_size": 8},
    "stop": {"max_generations": 2}}


def fail(text):
    sys.exit(f"limited.py: {text}")


class Group:
    """A memory group below our own; version 1 or 2."""

    def __init__(self):
        self.path = None
        for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
            number, controllers, path = line.split(":", 2)
            root = {"0": "/sys/fs/cgroup"}.get(number, "/sys/fs/cgroup/memory")
            if controllers == "" or "memory" in controllers.split(","):
                self.try_below(pathlib.Path(root + path), "memory.max" if number == "0" else "memory.limit_in_bytes")

    def try_below(self, parent, limit):
        path = parent / f"hox-test-{os.getpid()}"
        try:
            path.mkdir()
        except OSError:
            return
        atexit.register(path.rmdir)
        if (path / limit).exists():
            self.path, self.limit = path, path / limit

    def enter(self, limit_bytes):
        self.limit.write_text(str(limit_bytes), encoding="ascii")
        (self.path / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def run(name, before):
    out = FOLDER / name
    process = subprocess.run([HOX, "run", str(FOLDER / "e.json"), "--out", str(out), "--quiet"], check=False,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=before, timeout=250)
    if process.returncode != 0:
        fail(f"{name}: ended with {process.returncode}: {process.stderr[-500:]}")
    return out


def reasons(out):
    events = map(json.loads, (out / "events.jsonl").read_text(encoding="utf-8").splitlines())
    return {event["why"] for event in events if event["event"] == "memory"}


def main():
    (FOLDER / "e.json").write_text(json.dumps(EXPERIMENT), encoding="utf-8")
    group = Group()
    free = run("free", None)
    if reasons(free) != {"generation"}:
        fail(f"this machine has too little memory for the comparison: {reasons(free)}")
    cases = [("address space", limit, lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
             for limit in (220 * MIB, 120 * MIB)]
    if group.path:
        cases += [("group", limit, lambda limit=limit: group.enter(limit))
                  for limit in (150 * MIB, 80 * MIB, 60 * MIB, 40 * MIB, 24 * MIB)]
    else:
        print("no control group can be made here: under an address-space limit alone")
    for kind, limit, before in cases:
        out = run(f"{kind} {limit // MIB} MiB", before)
        if not filecmp.cmp(free / "genomes.jsonl", out / "genomes.jsonl", shallow=False):
            fail(f"{out.name}: other genomes")
        print(f"{out.name}: {', '.join(sorted(reasons(out)))}")
    if kind == "group" and not reasons(out) & {"oom_shrunk", "streamed"}:
        fail("the least limit did not press")


main()
