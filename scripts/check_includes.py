#!/usr/bin/env python3
"""Checks the include graph: which folder may include which, and who alone uses which library.

The table is the architecture (see ARCHITECTURE.md); an include that is not in it is an error.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder -> folders it may include, beside itself. The longest matching prefix owns a file.
MAY_INCLUDE = {
    "src/core": [],
    "src/reference": ["src/core"],
    "src/graph": ["src/core", "src/reference"],
    "src/import": ["src/core", "src/graph"],
    "src/tasks": ["src/core", "src/graph"],
    "search_space": ["src/core"],
    "cost_model": ["src/core", "search_space"],
    "src/device": ["src/core", "src/device/cuda", "src/device/virtual"],
    "src/device/cuda": ["src/core", "src/device"],
    "src/device/virtual": ["src/core", "src/device"],
    "measure": ["src/core", "src/reference", "src/device", "search_space"],
    "database": ["src/core"],
    "src/tuner": ["src/core", "src/tasks", "search_space", "cost_model", "measure", "database"],
    "src/runtime": ["src/core", "src/device"],
    "src/compile": ["src/core", "src/graph", "src/tasks", "src/device", "src/runtime", "search_space", "cost_model", "measure",
                    "database"],
    "src/cli": ["src/core", "src/reference", "src/graph", "src/import", "src/tasks", "src/device", "src/tuner",
                "src/runtime", "src/compile", "search_space", "cost_model", "measure", "database"],
}

# Library header -> folders that alone may include it.
OWNERS = {
    r"onnx/|google/protobuf": ["src/import"],
    r"xgboost/": ["cost_model"],
    r"sqlite3\.h": ["database", "src/compile", "src/runtime"],
    r"nvrtc\.h": ["measure"],
    r"cuda\.h": ["src/device/cuda"],
    r"CLI/": ["src/cli"],
    r"openssl/": ["src/core"],
}


def owner(path):
    folders = [f for f in MAY_INCLUDE if path == f or path.startswith(f + "/")]
    return max(folders, key=len) if folders else None


def main():
    faults = []
    files = [p for top in ("src", "search_space", "cost_model", "measure", "database")
             for p in sorted((ROOT / top).rglob("*")) if p.suffix in (".h", ".cpp")]
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        here = owner(name)
        if here is None:
            faults.append(f"{name}: stands in no folder of the table in scripts/check_includes.py")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not match:
                continue
            target = match.group(2)
            if match.group(1) == '"':
                there = owner(target)
                if not (ROOT / target).is_file():
                    faults.append(f"{name}:{number}: '{target}' is no path from the repository's root")
                elif there != here and there not in MAY_INCLUDE[here]:
                    faults.append(f"{name}:{number}: {here} may not include {there}")
            for pattern, folders in OWNERS.items():
                if re.match(pattern, target) and here not in folders:
                    faults.append(f"{name}:{number}: <{target}> belongs to {', '.join(folders)}")
    print("\n".join(faults) if faults else f"include graph: {len(files)} files hold to it")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
