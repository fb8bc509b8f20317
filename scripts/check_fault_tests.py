#!/usr/bin/env python3
"""Checks docs/fault_tests.md: all 27 groups are in its table, and every test that it names is in the sources."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GROUPS = [f"T{number:02}" for number in range(1, 21)] + [f"S{number}" for number in range(1, 8)]


def tests_in_sources():
    """Suite -> names."""
    tests = {}
    for file in (ROOT / "tests").rglob("*.cpp"):
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", file.read_text(errors="replace"), re.M):
            tests.setdefault(suite, set()).add(name)
    return tests


def main():
    known = tests_in_sources()
    named = {}
    faults = []
    for line in (ROOT / "docs/fault_tests.md").read_text().splitlines():
        row = re.match(r"\| ([TS]\d+) \|(.*)\|(.*)\|$", line)
        if not row:
            continue
        group, tests = row.group(1), re.findall(r"`(\w+)\.(\w+|\*)`", row.group(3))
        if group in named:
            faults.append(f"{group} stands in two rows")
        named[group] = tests
        if not tests:
            faults.append(f"{group} names no test")
        for suite, name in tests:
            if suite not in known or (name != "*" and name not in known[suite]):
                faults.append(f"{group}: there is no test {suite}.{name}")
    faults += [f"{group} is missing" for group in GROUPS if group not in named]
    faults += [f"{group} is no group" for group in named if group not in GROUPS]
    for fault in faults:
        print(f"docs/fault_tests.md: {fault}")
    if not faults:
        print(f"fault tests: {len(named)} groups, {sum(map(len, named.values()))} names, all found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
