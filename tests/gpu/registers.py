#!/usr/bin/env python3
"""registers.py LOG TABLE [--nvcc PROGRAM] [--write]: what ptxas says of the CUDA kernels (LOG) beside what was committed (TABLE). No
kernel may spill registers to memory from sm_80 on, whatever the table says. Everything else has to be as in the table; --write accepts
what is. Another compiler chooses other registers, so under another version than the table's only spills count."""

import argparse
import collections
import re
import subprocess
import sys

COLUMNS = ("registers", "shared_bytes", "stack_bytes", "spill_stores", "spill_loads")
HEADER = ",".join(("kernel", "architecture") + COLUMNS)
SPILLS_FROM = 80  # sm_75 has half the registers a thread for the same number of blocks

Usage = collections.namedtuple("Usage", COLUMNS)


class Problem(Exception):
    """LOG or TABLE cannot be read."""


def read_log(text):
    """(kernel, architecture) -> Usage. What functions that were not inlined take is added to their kernel's."""
    found, place, memory = {}, None, [0, 0, 0]
    for line in text.splitlines():
        if entry := re.search(r"Compiling entry function '(\w+)' for '(sm_\w+)'", line):
            place, memory = entry.groups(), [0, 0, 0]
        elif sizes := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            memory = [a + int(b) for a, b in zip(memory, sizes.groups())]
        elif place and (used := re.search(r"Used (\d+) registers", line)):
            shared = re.search(r"(\d+) bytes smem", line)
            found[place] = Usage(int(used[1]), int(shared[1]) if shared else 0, *memory)
            place = None
    if not found:
        raise Problem("the log names no kernel: was it written by nvcc with -Xptxas -v?")
    return found


def read_table(text):
    """The compiler's version and (kernel, architecture) -> Usage."""
    lines = text.splitlines()
    version = re.match(r"# nvcc (\S+)$", lines[0]) if lines else None
    rows = [line for line in lines if not line.startswith("#")]
    if not version or not rows or rows[0] != HEADER:
        raise Problem("the table has to begin with '# nvcc VERSION' and the names of its columns; --write makes it anew")
    found = {}
    for row in rows[1:]:
        kernel, architecture, *numbers = row.split(",")
        if len(numbers) != len(COLUMNS) or not all(n.isdigit() for n in numbers):
            raise Problem(f"the table's row '{row}' cannot be read; --write makes it anew")
        found[kernel, architecture] = Usage(*map(int, numbers))
    return version[1], found


def table_text(version, found):
    rows = sorted(found.items(), key=lambda item: (item[0][0], architecture_number(item[0][1])))
    lines = [",".join([*place, *map(str, usage)]) for place, usage in rows]
    return "\n".join([f"# nvcc {version}", HEADER, *lines]) + "\n"


def architecture_number(name):
    return int(re.match(r"sm_(\d+)", name)[1])


def spills(found):
    return [f"{kernel} on {architecture}: {usage.spill_stores} bytes of spill stores, {usage.spill_loads} of spill loads; from "
            f"sm_{SPILLS_FROM} on there may be none" for (kernel, architecture), usage in found.items()
            if architecture_number(architecture) >= SPILLS_FROM and (usage.spill_stores or usage.spill_loads)]


def differences(was, found):
    lines = [f"{kernel} on {architecture}: is in the table and not in the log" for kernel, architecture in was.keys() - found.keys()]
    lines += [f"{kernel} on {architecture}: is in the log and not in the table" for kernel, architecture in found.keys() - was.keys()]
    for place in was.keys() & found.keys():
        lines += [f"{place[0]} on {place[1]}: {name} was {before}, is {now}"
                  for name, before, now in zip(COLUMNS, was[place], found[place]) if before != now]
    return sorted(lines)


def compare(version, log, table):
    """What is wrong, and what else to say."""
    found = read_log(log)
    table_version, was = read_table(table)
    if version != table_version:
        return spills(found), [f"nvcc is {version}, the table was made with {table_version}: only spills were looked for"]
    return spills(found) + differences(was, found), [f"{len(found)} rows looked at"]


def compiler_version(program):
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return re.search(r"\bV(\d+\.\d+\.\d+)", said)[1]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("table")
    parser.add_argument("--nvcc", default="nvcc", help="the compiler that wrote the log")
    parser.add_argument("--write", action="store_true", help="accept what the log says: write the table")
    given = parser.parse_args()
    try:
        version, log = compiler_version(given.nvcc), read(given.log)
        if given.write:
            found = read_log(log)
            wrong, said = spills(found), [f"wrote {given.table}: {len(found)} rows"]
            with open(given.table, "w", encoding="utf-8") as file:
                file.write(table_text(version, found))
        else:
            wrong, said = compare(version, log, read(given.table))
    except (OSError, Problem, subprocess.CalledProcessError) as problem:
        wrong, said = [str(problem)], []
    print("\n".join(wrong + said))
    if wrong:
        print(f"to accept all but spills: python3 {sys.argv[0]} {given.log} {given.table} --nvcc {given.nvcc} --write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
