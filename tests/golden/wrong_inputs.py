#!/usr/bin/env python3
"""wrong_inputs.py TABLE HOX: gives hox every wrong input of the table; each must end with its exit code and one line that
names the place, with no signal and no hang. A case: name, files (path: contents), run (the words after hox), code, says
(fragments of the line), lines (of errors; 1 unless said). "accepted" cases must end with 0.

Contents: text; {"json": value}; {"labels": [..], "bytes": n}: CIFAR-10 records, cut to n bytes; {"idx": [counts, size],
"bytes": n}; {"repeat": [text, n]}; "folder"; "fifo"; {"hex": ".."}; {"png": [w, h]}; {"chain": n}: a genome of n nodes."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(width) for _ in range(min(height, 64)))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def chain(count):
    """Input -> 2 -> 3 ... -> output, all 3 x 1 x 1, every kernel 1 x 1."""
    ids = [0] + list(range(2, count)) + [1]
    nodes = [{"id": i, "size": [3, 1, 1], "activation": "identity"} for i in sorted(ids)]
    edges = [{"innovation": i + 1, "from": a, "to": b, "enabled": True, "kernel": [1, 1], "stride": [1, 1],
              "padding": [0, 0], "weights": [0.5] * 9, "bias": [0, 0, 0]} for i, (a, b) in enumerate(zip(ids, ids[1:]))]
    return json.dumps({"format": "hox-genome/1", "id": 1, "parents": [0, 0], "readout": "sum", "nodes": nodes, "edges": edges})


def contents(spec):
    if isinstance(spec, str):
        return spec.encode()
    if "json" in spec:
        return json.dumps(spec["json"]).encode()
    if "repeat" in spec:
        return (spec["repeat"][0] * spec["repeat"][1]).encode()
    if "hex" in spec:
        return bytes.fromhex(spec["hex"])
    if "png" in spec:
        return png(*spec["png"])[: spec.get("bytes")]
    if "chain" in spec:
        return chain(spec["chain"]).encode()
    if "labels" in spec:
        return b"".join(bytes([label]) + bytes(3072) for label in spec["labels"])[: spec.get("bytes")]
    counts, size = spec["idx"]
    head = struct.pack(">I", 0x0800 + len(counts)) + b"".join(struct.pack(">I", n) for n in counts)
    return (head + bytes(size))[: spec.get("bytes")]


def make(folder, path, spec):
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if spec == "folder":
        target.mkdir()
    elif spec == "fifo":
        os.mkfifo(target)
    else:
        target.write_bytes(contents(spec))


def trouble(case, result):
    """What is wrong with how hox took the case; empty = nothing."""
    errors = [line for line in result.stderr.splitlines() if line.startswith("hox")]
    if result.returncode < 0:
        return f"died of signal {-result.returncode}"
    if result.returncode != case["code"]:
        return f"exit code {result.returncode}, expected {case['code']}"
    if case["code"] != 0 and len(errors) != case.get("lines", 1):
        return f"{len(errors)} lines, expected {case.get('lines', 1)}"
    missing = [says for says in case.get("says", []) if says not in result.stderr]
    return f"does not say {missing}" if missing else ""


def run(case, hox):
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        for path, spec in case.get("files", {}).items():
            make(folder, path, spec)
        result = subprocess.run([hox] + case["run"], cwd=folder, capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                                encoding="utf-8", errors="replace")
        wrong = trouble(case, result)
        return f"{case['name']}: {wrong}\n  hox {' '.join(case['run'])}\n{result.stderr}" if wrong else ""
    except subprocess.TimeoutExpired:
        return f"{case['name']}: hangs"
    finally:
        shutil.rmtree(folder)


def main():
    cases = json.load(open(sys.argv[1], encoding="utf-8"))
    hox = os.path.abspath(sys.argv[2])
    failures = [text for text in (run(case, hox) for case in cases) if text]
    print("\n".join(failures))
    print(f"{len(cases)} cases, {len(failures)} wrong")
    sys.exit(1 if failures else 0)


main()
