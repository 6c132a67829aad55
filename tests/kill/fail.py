#!/usr/bin/env python3
"""fail.py HOX [long] [slow]: a disk that is full, broken or lying while a run is saved: the run goes on, says it with its exit
code, and the old checkpoint is there until a new one is."""

import resource
import shutil

from lab import (FOLDER, GENERATIONS, can_trace, check, check_equal, count, file_calls, finish, hox, left_by, must, reference,
                 resume_words, run_words, sample, save_of)

SEED = 5
CALLS = ("write", "fsync", "fdatasync", "rename", "renameat", "renameat2", "open", "openat")


def is_harmless(call):
    """Looking for old checkpoints to drop: the next save finds them. (The folder's sync opens it by a name that ends in /.)"""
    return call.name.startswith("open") and 'OUT/checkpoint"' in call.text


def save_calls(generation):
    out = FOLDER / "traced"
    calls = file_calls(out, run_words(out, SEED))
    shutil.rmtree(out)
    return [call for call in save_of(calls, generation) if call.name in CALLS]


def fail_once(call, error):
    """The save fails, the next does not."""
    out = FOLDER / "failing"
    words = run_words(out, SEED)
    result = hox(words, call.inject(f"error={error}"))
    what = f"{error} at {call}"
    expected = 0 if is_harmless(call) else 1
    check(result.returncode == expected, f"{what}: {result.returncode}, not {expected}\n{result.stderr}")
    said = [line for line in result.stderr.splitlines() if "no checkpoint after generation 6" in line]
    check(len(said) == expected, f"{what}: {result.stderr}")
    check_equal(out, reference(SEED), what)
    count("failing calls")


def fail_for_good(call, error):
    """From this call on; then the disk is well again."""
    out = FOLDER / "failing"
    result = hox(run_words(out, SEED), call.inject(f"error={error}", "+"))
    what = f"{error} from {call} on"
    check(result.returncode == 1, f"{what}: {result.returncode}\n{result.stderr}")
    again = must(resume_words(out))
    # what was written but not synced may be there or not, but nothing is half
    check("is skipped" not in again.stderr and "starts over" not in again.stderr, f"{what}: {again.stderr}")
    check_equal(out, reference(SEED), what)
    count("disks that stayed full")


def lie(call):
    """The disk takes less than it says, in the last checkpoint: this is seen, and the one before is taken."""
    out = FOLDER / "lying"
    what = f"5 bytes of {call}"
    must_not_save = hox(run_words(out, SEED), call.inject("retval=5"))
    check(must_not_save.returncode == 0, f"{what}: {must_not_save.stderr}")
    again = must(resume_words(out))
    check(f"{GENERATIONS - 1:08}.safetensors is skipped: it" in again.stderr, f"{what}: {again.stderr}")
    check_equal(out, reference(SEED), what)
    count("lies")


def no_room():
    """Files may not grow beyond the logs: every checkpoint is cut off while it is written."""
    expected = reference(SEED)
    out = FOLDER / "narrow"
    least = len(expected["genomes.jsonl"]) + 1024
    late = [name for name, content in expected.items() if name.startswith("checkpoint/") and len(content) > least]
    if not check(len(late) == 2, "the test needs checkpoints that are larger than the logs"):
        return
    result = hox(run_words(out, SEED), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (least, least)))
    check(result.returncode == 1, f"no room: {result.returncode}\n{result.stderr}")
    check("File too large" in result.stderr, result.stderr)
    left = left_by(out)
    check(not left["leftovers"], f"no room: {left['leftovers']}")
    check(not any(name in left for name in late), "no room: a checkpoint that does not fit")
    check(left["run.json"]["generations"] == GENERATIONS, "no room: the run goes on")
    must(resume_words(out))
    check_equal(out, expected, "no room")
    count("limits")


no_room()
if can_trace():
    first = save_calls(5)
    count("calls of a save", len(first))
    for one in sample(first, 1):
        for reason in ("ENOSPC", "EIO"):
            fail_once(one, reason)
    for one in sample(first, 3):
        fail_for_good(one, "ENOSPC")
    for one in save_calls(GENERATIONS - 1):
        if one.name == "write" and f"{GENERATIONS - 1:08}.safetensors" in one.text:
            lie(one)
finish()
