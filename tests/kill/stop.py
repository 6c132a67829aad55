#!/usr/bin/env python3
"""stop.py HOX [long] [slow] [squeezed_by=RUNTIME]: runs that are stopped, asked to stop, locked, or made longer, and go on."""

import itertools
import json
import signal

from lab import (FOLDER, GENERATIONS, SQUEEZED_BY, Running, check, check_equal, count, finish, left_by, must,
                 reference, resume_words, run_words, sample)

SEEDS = (5, 6, 7)
WAYS = list(itertools.product((1, 2), (7, 256, 45000)))  # lanes, images in a chunk


def way(number):
    lanes, chunk = WAYS[number % len(WAYS)]
    return {"evaluation__fitness_eval_parallel": lanes, "evaluation__eval_batch_size": chunk}


def stop_everywhere():
    """After generation g, and on in another way."""
    cases = list(itertools.product(SEEDS, range(len(WAYS)), range(1, GENERATIONS)))
    for seed, number, stop in sample(cases, 7):
        out = FOLDER / "stopped"
        must(run_words(out, seed, stop__max_generations=stop, **way(number)))
        must(resume_words(out, stop__max_generations=GENERATIONS, **way(number + stop)))
        check_equal(out, reference(seed), f"seed {seed}, way {number}, stopped after {stop}")
        count("stops")


def squeeze():
    """The budget presses, and changes nothing."""
    if not SQUEEZED_BY:
        return
    for seed in SEEDS:
        out = FOLDER / "squeezed"
        must(run_words(out, seed))
        events = [json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines()]
        reasons = {event.get("why") for event in events}
        check("oom_shrunk" in reasons, f"seed {seed}: nothing shrank: {reasons}")
        check_equal(out, reference(seed), f"seed {seed}, squeezed")
        count("budgets")


def save_or_not():
    for seed in sample(SEEDS, 3):
        for every in (0, 5):
            out = FOLDER / "sparing"
            must(run_words(out, seed, run__checkpoint_every=every))
            names = sorted(path.name for path in (out / "checkpoint").glob("*.safetensors"))
            check(names[-1] == f"{GENERATIONS - 1:08}.safetensors", f"saved every {every}: {names}")
            check(len(names) == (2 if every else 1), f"saved every {every}: {names}")
            check_equal(out, reference(seed), f"saved every {every}", ["checkpoint/0"])
            count("ways to save")


def ask_to_stop():
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 0)):
        out = FOLDER / "asked"
        run = Running(run_words(out, 5, stop__max_generations=1000000), out)
        run.wait_for(3)
        check(run.end(number) == code, f"{number.name}: {run.process.returncode}, not {code}")
        left = left_by(out)
        done = len(left["metrics.jsonl"])
        check(left["run.json"]["stop_signal"] == number, f"{number.name}: {left['run.json']}")
        check(left["run.json"]["fitness"]["test"] is None, f"{number.name}: test was measured")
        must(resume_words(out, stop__max_generations=done + 3))
        check_equal(out, reference(5, stop__max_generations=done + 3), f"{number.name} after {done}")
        count("signals")


def lock():
    out = FOLDER / "locked"
    run = Running(run_words(out, 5, stop__max_generations=1000000), out)
    run.wait_for(2)
    second = must(resume_words(out), 3)
    check(f"another process ({run.process.pid}) is at work" in second.stderr, second.stderr)
    check(len(second.stderr.splitlines()) == 1, second.stderr)
    check(run.process.poll() is None, "the first goes on")
    run.end(signal.SIGKILL)
    done = run.generations()
    must(resume_words(out, stop__max_generations=done + 2))
    check_equal(out, reference(5, stop__max_generations=done + 2), "the lock of a killed process")
    count("locks")


def extend():
    for seed in sample(SEEDS, 3):
        out = FOLDER / "extended"
        must(run_words(out, seed))
        first = left_by(out)["run.json"]
        again = must(resume_words(out))
        check("this run had ended" in again.stdout, again.stdout)
        check_equal_result(out, first)
        longer = must(resume_words(out, stop__max_generations=GENERATIONS + 4))
        check("it will be measured again" in longer.stderr, longer.stderr)
        events = [json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines()]
        said = [e for e in events if e["event"] != "memory"]
        check(len(said) == 1 and "measured again" in said[0]["message"], f"{said}")
        check(left_by(out)["run.json"]["fitness"]["test"] is not None, "test is measured again")
        check_equal(out, reference(seed, stop__max_generations=GENERATIONS + 4), f"seed {seed}, made longer")
        count("runs made longer")


def check_equal_result(out, first):
    check(left_by(out)["run.json"] == first, "a run that had ended has another result")


squeeze()
stop_everywhere()
save_or_not()
ask_to_stop()
lock()
extend()
finish()
