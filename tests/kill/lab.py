"""lab.py - small runs of hox in a folder of their own, what they leave, and strace to kill or fail them at a call."""

import atexit
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HOX = os.path.abspath(sys.argv[1])
IS_LONG = "long" in sys.argv[2:]
IS_SLOW = "slow" in sys.argv[2:]  # a sanitizer's build: sample more thinly
# A runtime that takes memory for all maps of a batch: every run then has less than it would take.
SQUEEZED_BY = next((word.partition("=")[2] for word in sys.argv[2:] if word.startswith("squeezed_by=")), None)
IS_REFINED = "refined" in sys.argv[2:]  # elites are trained, often and long
REFINEMENT = {"elite_refinement_enabled": True, "elite_refinement_every": 2, "elite_refinement_lr": 0.01,
              "elite_refinement_fraction": 0.5, "elite_refinement_epochs": 3, "elite_refinement_batch_size": 16}
SQUEEZE = {"forward_runtime": SQUEEZED_BY, "gpu_vram_cap_bytes": 38000, "eval_batch_size_min": 4, "batch_size": 4}

# In memory where that is possible: thousands of fsyncs on a disk take minutes.
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hox-kill-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

GENERATIONS = 12
TOO_LONG = 120  # seconds: it hangs

failures = []
counts = {}


def sample(items, step):
    """Every step-th, all of them in the long test; fewer where all is slow."""
    return items[:: (1 if IS_LONG else step) * (4 if IS_SLOW else 1)]


def count(what, number=1):
    counts[what] = counts.get(what, 0) + number


def check(is_right, text):
    if not is_right:
        failures.append(text)
        print(f"wrong: {text}", flush=True)
    return is_right


def finish():
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    sys.exit(1 if failures else 0)


# ---- runs ----


def write_experiment(seed):
    path = FOLDER / f"seed-{seed}.json"
    path.write_text(json.dumps({
        "seed": seed,
        "dataset": {"plugin": "synthetic", "train_count": 80, "test_count": 20, "size": 8, "noise": 0.6},
        "task": {"positive_class": 0},
        "genome": {"allowed_channels": [3, 8]},
        "evaluation": {"fitness_eval_parallel": 1, **(SQUEEZE if SQUEEZED_BY else {})},
        "evolution": {"population_size": 8, "mutation": {"add_node": 0.3}},
        "refinement": REFINEMENT if IS_REFINED else {},
        "stop": {"max_generations": GENERATIONS}}))
    return str(path)


def environment(is_traced):
    result = {key: value for key, value in os.environ.items() if key != "HOX_PLUGIN_PATH"}
    result["XDG_DATA_HOME"] = "/nonexistent"
    if is_traced:  # the leak check cannot work under ptrace
        result["ASAN_OPTIONS"] = result.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return result


def with_sets(words, sets):
    for name, value in sets.items():
        words += ["--set", f"{name}={value}"]
    return words


def run_words(out, seed, **sets):
    return with_sets(["run", write_experiment(seed), "--out", str(out)], dotted(sets))


def resume_words(out, **sets):
    return with_sets(["resume", str(out)], dotted(sets))


def dotted(sets):
    return {name.replace("__", "."): value for name, value in sets.items()}


def hox(words, strace=None, **how):
    """Runs to the end. strace: its options before the command. how: more for subprocess."""
    command = ["strace", "-o", "/dev/null"] + strace + [HOX] + words if strace else [HOX] + words
    return subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False,
                          timeout=TOO_LONG, env=environment(strace is not None), **how)


def must(words, code=0, **how):
    result = hox(words, **how)
    check(result.returncode == code, f"hox {' '.join(words)}: {result.returncode}, not {code}\n{result.stderr}")
    return result


class Running:
    """A run in the background."""

    def __init__(self, words, out):
        self.metrics = out / "metrics.jsonl"
        self.process = subprocess.Popen([HOX] + words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        stdin=subprocess.DEVNULL, env=environment(False))

    def generations(self):
        return self.metrics.read_bytes().count(b"\n") if self.metrics.exists() else 0

    def wait_for(self, generations):
        start = time.monotonic()
        while self.generations() < generations:
            if self.process.poll() is not None or time.monotonic() - start > TOO_LONG:
                self.process.kill()
                sys.exit(f"{self.generations()} generations, not {generations}; exit code {self.process.poll()}")
            time.sleep(0.002)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=TOO_LONG)


# ---- what a run leaves ----


def without_seconds(value):
    if not isinstance(value, dict):
        return value
    return {key: without_seconds(part) for key, part in value.items() if not key.endswith("_seconds")}


def read_lines(path):
    """Every line must be whole."""
    text = path.read_text(encoding="utf-8")
    check(text == "" or text.endswith("\n"), f"{path} ends in half a line")
    return [without_seconds(json.loads(line)) for line in text.splitlines()]


def left_by(out):
    """All that must be the same: name -> content."""
    files = {path.relative_to(out).as_posix(): path for path in sorted(out.rglob("*")) if path.is_file()}
    left = {name: path.read_bytes() for name, path in files.items()
            if name == "genomes.jsonl" or name.startswith("champion/") or name.endswith(".safetensors")}
    left["metrics.jsonl"] = read_lines(files["metrics.jsonl"])
    left["run.json"] = without_seconds(json.loads(files["run.json"].read_text(encoding="utf-8")))["result"]
    read_lines(files["events.jsonl"])
    left["leftovers"] = [name for name in files if name.endswith(".tmp")]
    return left


def check_equal(out, expected, what, ignored=()):
    left = left_by(out)
    differences = [name for name in sorted(set(left) | set(expected))
                   if left.get(name) != expected.get(name) and not name.startswith(tuple(ignored))]
    check(not differences, f"{what}: other {', '.join(differences)}")
    shutil.rmtree(out)


references = {}


def reference(seed, **sets):
    """What the uninterrupted run leaves, with all the memory there is."""
    free = {"evaluation__gpu_vram_cap_bytes": 0} if SQUEEZED_BY else {}
    key = f"reference-{seed}" + "".join(f"-{name}={value}" for name, value in sorted(sets.items()))
    if key not in references:
        must(run_words(FOLDER / key, seed, **sets, **free))
        references[key] = left_by(FOLDER / key)
    return references[key]


# ---- strace ----


class Call:
    """The nth call of this name by the main thread; strace counts each name apart."""

    def __init__(self, name, nth, text):
        self.name, self.nth, self.text = name, nth, text

    def inject(self, what, when=""):
        return ["-e", f"trace={self.name}", "-e", f"inject={self.name}:{what}:when={self.nth}{when}"]

    def __str__(self):
        return f"{self.name} {self.nth}: {self.text[:120]}"


def can_trace():
    """Where not, one line says why."""
    if not shutil.which("strace"):
        print("skipped: strace is not installed")
        return False
    options = ["-o", "/dev/null", "-e", "trace=close", "-e", "inject=close:error=EIO:when=9999"]
    result = subprocess.run(["strace"] + options + ["true"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"skipped: strace cannot trace: {result.stderr.strip().splitlines()[-1]}")
    return result.returncode == 0


def file_calls(out, words):
    """What the main thread does to files in a run, in order. Two runs do the same: threads only compute."""
    trace = FOLDER / "trace"
    command = ["strace", "-y", "-s", "200", "-o", str(trace), "-e", "trace=%file,%desc", HOX] + words
    subprocess.run(command, capture_output=True, check=True, timeout=TOO_LONG, env=environment(True), stdin=subprocess.DEVNULL)
    nth, calls = {}, []
    for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
        match = re.match(r"(\w+)\((.*)", line)
        if not match or match[1] in ("execve", "mmap"):
            continue
        nth[match[1]] = nth.get(match[1], 0) + 1
        calls.append(Call(match[1], nth[match[1]], line.replace(str(out), "OUT")))
    return calls


def save_of(calls, generation):
    """The calls of one save: from the logs' fsync to the folder's after volatile.json."""
    name = f"{generation:08}.safetensors.tmp"
    first = next(i for i, call in enumerate(calls) if call.name.startswith("open") and name in call.text)
    while "metrics.jsonl" not in calls[first].text or calls[first].name != "fsync":
        first -= 1
    last = next(i for i, call in enumerate(calls)
                if i > first and call.name.startswith("rename") and "volatile.json" in call.text)
    while calls[last].name != "fsync":
        last += 1
    return calls[first: last + 2]
