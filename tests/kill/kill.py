#!/usr/bin/env python3
"""kill.py HOX calls|times [long] [slow] [refined] [squeezed_by=RUNTIME]: runs that are killed, at every call that touches a file or at any time, and go on.
Those killed before config.resolved.json was there have nothing to go on with; they are run anew."""

import random
import signal
import sys
import time

from lab import (FOLDER, IS_LONG, IS_REFINED, IS_SLOW, SQUEEZED_BY, Running, can_trace, check, check_equal, count, file_calls, finish, hox, must,
                 reference, resume_words, run_words, sample, save_of)

SEED = 5
SHORT = {"stop__max_generations": 7}  # a save with two older files to drop, and the end
LONGER = {"stop__max_generations": 60}


def go_on(out, what, **sets):
    if out.exists() and (out / "config.resolved.json").exists():
        must(resume_words(out))
    else:
        nothing = must(resume_words(out), 3)
        check(len(nothing.stderr.splitlines()) == 1, nothing.stderr)
        must(run_words(out, SEED, **sets))
        count("run anew")
    check_equal(out, reference(SEED, **sets), what)


def at_calls():
    if not can_trace():
        return
    out = FOLDER / "killed"
    words = run_words(out, SEED, **SHORT)
    calls = file_calls(out, words)
    check_equal(out, reference(SEED, **SHORT), "traced")
    touch = next(i for i, call in enumerate(calls) if "OUT" in call.text)
    save = save_of(calls, 4)
    count("calls", len(calls))
    # before the folder is there nothing can go wrong
    for call in sample(calls[:touch], 60) + sample(calls[touch:], 7) + sample(save, 5):
        result = hox(words, call.inject("signal=SIGKILL"))
        check(result.returncode == -signal.SIGKILL, f"not killed at {call}: {result.returncode}")
        go_on(out, f"killed at {call}", **SHORT)
        count("kills")


def at_times():
    """Each of a run's lives ends at a random time, the last on its own."""
    draw = random.Random(1)
    start = time.monotonic()
    reference(SEED, **LONGER)
    most = time.monotonic() - start
    rounds = (60 if SQUEEZED_BY or IS_REFINED else 200) if IS_LONG else 4 if IS_SLOW or SQUEEZED_BY or IS_REFINED else 15
    for number in range(rounds):
        out = FOLDER / "killed"
        words = run_words(out, SEED, **LONGER)
        for _ in range(draw.randrange(1, 4)):
            run = Running(words, out)
            time.sleep(draw.uniform(0, most))
            run.end(signal.SIGKILL)
            count("kills")
            if (out / "config.resolved.json").exists():
                words = resume_words(out)
        go_on(out, f"killed at times, {number}", **LONGER)


if "times" in sys.argv:
    at_times()
else:
    at_calls()
finish()
