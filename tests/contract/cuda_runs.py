#!/usr/bin/env python3
"""cuda_runs.py HOX PLUGIN_FOLDER [FAKE_DRIVER_FOLDER]: whole runs on a GPU that is the fake driver's, beside the CPU's; what is
said where there is no GPU; what plugins link. Without the folder (hox was built without CUDA) only what needs none."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HOX, PLUGINS = sys.argv[1:3]
DRIVER = sys.argv[3] if len(sys.argv) > 3 else None
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hox_cuda_runs."))
EXPERIMENT = FOLDER / "experiment.json"
EXPERIMENT.write_text(json.dumps({
    "name": "gpu", "seed": 3,
    "dataset": {"plugin": "synthetic", "train_count": 300, "test_count": 60, "size": 12},
    "task": {"positive_class": 0},
    "genome": {"hidden_activation": "gelu", "allowed_channels": [3, 8], "same3": True, "stride2": True},
    "evolution": {"population_size": 16, "mutation": {"add_node": 0.3, "add_edge": 0.3, "channels": 0.1}},
    "evaluation": {"forward_runtime": "eager"},
    "stop": {"max_generations": 5}}), encoding="utf-8")
failures = []


def check(is_right, what):
    if not is_right:
        failures.append(what)
        print("wrong:", what)


def hox(*words, driver=True, **environment):
    """Runs it; the fake driver stands in the way of a real one."""
    variables = {key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
    if driver and DRIVER:
        variables["LD_LIBRARY_PATH"] = DRIVER
    variables.update(environment)
    return subprocess.run([HOX, *words], env=variables, capture_output=True, text=True, timeout=600)


def run(name, *sets, code=0, words=(), **environment):
    out = FOLDER / name
    result = hox("run", str(EXPERIMENT), "--out", str(out), *words, *(f"--set={item}" for item in sets), **environment)
    check(result.returncode == code, f"{name}: exit code {result.returncode}: {result.stderr[-400:]}")
    return out, result


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def equal(left, right, what):
    for name in ("genomes.jsonl", "champion/weights.safetensors", "champion/genome.json"):
        check((left / name).read_bytes() == (right / name).read_bytes(), f"{what}: {name} differs")


def devices():
    """The words of doctor and plugins info, and where no device is the one that was asked for."""
    cases = [({}, "cuda:0 (Fake GPU 0, 0000:00:00.0, 1.0 GiB)"),
             ({"HOX_FAKE_CUDA_DEVICES": "2"}, "cuda:1 (Fake GPU 1, 0000:01:00.0, 1.0 GiB)"),
             ({"HOX_FAKE_CUDA_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "1"}, "cuda:0 (Fake GPU 1, 0000:01:00.0, 1.0 GiB)"),
             ({"HOX_FAKE_CUDA_DEVICES": "0"}, "; the NVIDIA driver sees no GPU\n"),
             ({"CUDA_VISIBLE_DEVICES": ""}, "; the NVIDIA driver sees no GPU\n"),
             ({"HOX_FAKE_CUDA_DRIVER_VERSION": "11040"}, "; the NVIDIA driver is too old: it knows CUDA 11.4, this build"),
             ({"HOX_FAKE_CUDA_MAJOR": "6"}, "; cuda:0: GPU not supported: Fake GPU 0 is of compute capability 6.0, ")]
    for environment, expected in cases:
        for words in (("doctor",), ("plugins", "info", "eager")):
            said = hox(*words, **environment)
            check(said.returncode == 0 and expected in said.stdout, f"{words} with {environment}: {said.stdout}")
    _, result = run("absent", "evaluation.device=cuda:7", code=5)
    check("no device \"cuda:7\" here; it has: cpu, cuda:0" in result.stderr, f"cuda:7: {result.stderr}")
    _, result = run("hidden", "evaluation.device=cuda", code=5, CUDA_VISIBLE_DEVICES="")
    check("no device \"cuda\" here: the NVIDIA driver sees no GPU; it has: cpu" in result.stderr, f"cuda: {result.stderr}")


def no_driver():
    reason = "no NVIDIA driver" if DRIVER else "built without CUDA"
    if DRIVER and "no NVIDIA driver" not in hox("doctor", driver=False).stdout:
        print("skipped: this machine has a driver of its own")
        return
    for words in (("doctor",), ("plugins", "info", "eager")):
        check(f"; {reason}\n" in hox(*words, driver=False).stdout, f"{words}: not \"{reason}\"")
    _, result = run("cuda_without", "evaluation.device=cuda", code=5, driver=False)
    check(result.stderr.count("\n") == 1 and f"no device \"cuda\" here: {reason}; it has: cpu" in result.stderr,
          f"device cuda without one: {result.stderr}")
    out, _ = run("auto_without", "evaluation.device=auto", driver=False)
    device = json.loads((out / "run.json").read_text(encoding="utf-8"))["device"]
    check(device["address"] == "cpu", f"auto without a GPU: {device}")


def takes_another():
    """auto, where the GPU does not train or does not answer: the CPU, with a line."""
    cases = [("trains", ["refinement.elite_refinement_enabled=true"], {}, "runtime eager does not train on cuda:0: it runs on cpu"),
             ("broken", [], {"HOX_FAKE_CUDA_FAIL_CALL": "1", "HOX_FAKE_CUDA_FAIL_CODE": "999"},
              "runtime eager: starting the NVIDIA driver: CUDA error 999"),
             ("unsupported", [], {"HOX_FAKE_CUDA_MAJOR": "6"}, "runtime eager: cuda:0: GPU not supported")]
    for name, sets, environment, expected in cases:
        out, result = run(name, "evaluation.device=auto", *sets, **environment)
        device = json.loads((out / "run.json").read_text(encoding="utf-8"))["device"]
        check(device["address"] == "cpu" and expected in result.stderr, f"{name}: {device}: {result.stderr[:300]}")


def says_why_it_cannot_open():
    """Whichever call fails before the first generation: exit 5 and the driver's own word for it."""
    for call in range(1, 80):
        said = hox("run", str(EXPERIMENT), "--out", str(FOLDER / f"unopened_{call}"), "--set=evaluation.device=cuda",
                   "--set=stop.max_generations=1", HOX_FAKE_CUDA_FAIL_CALL=str(call), HOX_FAKE_CUDA_FAIL_CODE="999")
        check(said.returncode in (0, 5), f"call {call} fails: exit code {said.returncode}: {said.stderr}")
        check(said.returncode == 0 or "CUDA error 999" in said.stderr, f"call {call} fails: {said.stderr}")
        check("not supported" not in said.stderr, f"call {call} fails: {said.stderr}")


def beside_the_cpu():
    cpu, _ = run("cpu", "evaluation.device=cpu")
    gpu, result = run("gpu", "evaluation.device=auto")
    check("cuda:0" in result.stderr.splitlines()[0], f"the first line does not name the device: {result.stderr[:200]}")
    device = json.loads((gpu / "run.json").read_text(encoding="utf-8"))["device"]
    check((device["address"], device["instruction_set"], device["bus"]) == ("cuda:0", "sm_90", "0000:00:00.0"), f"{device}")
    left, right = lines(cpu / "genomes.jsonl"), lines(gpu / "genomes.jsonl")
    check(len(left) == len(right) == 5 * 16, "other genomes")
    for a, b in zip(left, right):
        check((a["id"], a["fitness"]) == (b["id"], b["fitness"]), f"genome {a['id']}: {a['fitness']} and {b['fitness']}")
    return gpu


def same_bits(gpu):
    """For any batch, lanes, kind of transfer, order of threads, residency and amount of memory."""
    ways = {"batch": ["evaluation.eval_batch_size=37", "evaluation.fitness_eval_parallel=1"],
            "lanes": ["evaluation.fitness_eval_parallel=3", "evaluation.eval_batch_size=20", "evaluation.eval_batch_size_min=1"],
            "unpinned": ["runtime.pin_memory=false"],
            "streamed": ["evaluation.cache_val_on_gpu=false", "evaluation.eval_batch_size=50"],
            "graph": ["evaluation.forward_runtime=graph", "evaluation.eval_batch_size=50"],
            "squeezed": ["evaluation.gpu_vram_cap_bytes=430000", "evaluation.eval_batch_size_min=8",
                         "evaluation.batch_size=8"]}
    for name, sets in ways.items():
        out, _ = run(name, "evaluation.device=cuda", *sets)
        equal(out, gpu, name)
    shrunk = {event.get("why") for event in lines(FOLDER / "squeezed" / "events.jsonl")}
    check(shrunk & {"oom_shrunk", "threshold"}, f"nothing shrank: {shrunk}")
    out, _ = run("small", "evaluation.device=cuda", "evaluation.eval_batch_size_min=8", "evaluation.batch_size=8",
                 HOX_FAKE_CUDA_MEMORY="400000")
    equal(out, gpu, "a small device")
    for order in "12":
        out, _ = run("order" + order, "evaluation.device=cuda", HOX_FAKE_CUDA_ORDER=order)
        equal(out, gpu, "order " + order)


def fused_is_no_other(gpu):
    """The same bits with any batch, lanes, group and shared memory; it decides as eager does."""
    fused, _ = run("fused", "evaluation.device=cuda", "evaluation.forward_runtime=fused")
    for a, b in zip(lines(gpu / "genomes.jsonl"), lines(fused / "genomes.jsonl"), strict=True):
        check((a["id"], a["fitness"]) == (b["id"], b["fitness"]), f"fused: genome {a['id']}: {a['fitness']} and {b['fitness']}")
    ways = {"fused_again": [],
            "fused_batch": ["evaluation.eval_batch_size=37", "evaluation.fitness_eval_parallel=1"],
            "fused_lanes": ["evaluation.fitness_eval_parallel=3", "evaluation.eval_batch_size=20", "evaluation.eval_batch_size_min=1"],
            "fused_streamed": ["evaluation.cache_val_on_gpu=false", "evaluation.eval_batch_size=50", "runtime.pin_memory=false"]}
    for name, sets in ways.items():
        out, result = run(name, "evaluation.device=cuda", "evaluation.forward_runtime=fused", *sets)
        check("device cuda:0 (Fake GPU 0), runtime fused" in result.stderr, f"{name}: not on the GPU: {result.stderr[:200]}")
        equal(out, fused, name)
    out, _ = run("fused_spilled", "evaluation.device=cuda", "evaluation.forward_runtime=fused", HOX_FAKE_CUDA_SHARED="8192",
                 HOX_FAKE_CUDA_ORDER="2")
    equal(out, fused, "fused with little shared memory")


def go_on(gpu):
    out, _ = run("stopped", "evaluation.device=cuda", "stop.max_generations=2")
    check(hox("resume", str(out), "--set", "stop.max_generations=5").returncode == 0, "resume")
    equal(out, gpu, "stopped and resumed")
    said = hox("resume", str(out), "--set", "stop.max_generations=5", "--set", "evaluation.device=cuda:1", HOX_FAKE_CUDA_DEVICES="2")
    check(said.returncode == 0, f"resumed on another GPU of its kind: {said.returncode} {said.stderr}")
    said = hox("resume", str(out), "--set", "stop.max_generations=6", "--set", "evaluation.device=cpu")
    check(said.returncode == 3, f"resumed on another device: {said.returncode} {said.stderr}")


def lose_the_device(gpu):
    """At any time: exit 5, one line, nobody blamed, and the rest of the run elsewhere to the same end."""
    lost = 0
    for call in (40, 400, 900, 1500, 2500, 4000):
        for code in ("700", "719", "999"):
            name = f"lost_{call}_{code}"
            out = FOLDER / name
            said = hox("run", str(EXPERIMENT), "--out", str(out), "--set=evaluation.device=cuda",
                       "--set=evaluation.fitness_eval_parallel=1", "--set=evaluation.eval_batch_size=64",
                       HOX_FAKE_CUDA_FAIL_CALL=str(call), HOX_FAKE_CUDA_FAIL_CODE=code)
            if said.returncode == 0:
                continue
            lost += 1
            last = said.stderr.splitlines()[-1] if said.stderr else ""
            check(said.returncode == 5, f"{name}: exit code {said.returncode}: {said.stderr[-300:]}")
            check(f"CUDA error {code}" in said.stderr, f"{name}: {last}")
            if not (out / "genomes.jsonl").exists():
                continue
            check(all(genome["fitness"] is not None for genome in lines(out / "genomes.jsonl")), f"{name}: blamed")
            if not (out / "checkpoint").exists():
                continue
            again = hox("resume", str(out))
            check(again.returncode == 0, f"{name}: {again.stderr[-300:]}")
            equal(out, gpu, name)
    check(lost >= 9, f"only {lost} losses")


def links():
    """No CUDA library is linked: the same file loads on any machine."""
    for plugin in pathlib.Path(PLUGINS).glob("*.so"):
        said = subprocess.run(["readelf", "-d", plugin], capture_output=True, text=True, check=True).stdout
        needed = [line for line in said.splitlines() if "NEEDED" in line]
        check(not any(word in line for line in needed for word in ("cuda", "cudnn", "nvrtc")),
              f"{plugin.name}: {needed}")


links()
no_driver()
if DRIVER:
    devices()
    takes_another()
    says_why_it_cannot_open()
    GPU = beside_the_cpu()
    same_bits(GPU)
    fused_is_no_other(GPU)
    go_on(GPU)
    lose_the_device(GPU)
if failures:
    print(f"{len(failures)} failures; what there was is in {FOLDER}")
    sys.exit(1)
shutil.rmtree(FOLDER)
