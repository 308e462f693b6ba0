#!/usr/bin/env python3
"""Checks what a script can hold of STYLE.md; prints each violation and exits 1 if there is one.

    tools/tidy.py

Sizes of files, licence lines, C++ files that no CMakeLists.txt lists, includes of modules that are not in
the table of arrows (cmake/Layers.cmake), tests that are switched off.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE_LIMIT = 800
TEST_LIMIT = 1000
GENERATED = {"adapter/src/pg_catalog_shapes.cc"}

# Which module a public include belongs to, by its first folders.
INCLUDE = re.compile(r'#include <(?:freshet/(\w+)|(timely|differential|testing))/([\w/]+\.h)>')
TIMELY_PROGRESS = {"order.h", "antichain.h", "change_batch.h"}


def tracked() -> list[Path]:
    out = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


def arrows() -> dict[str, set[str]]:
    """The table, with CMake's variables expanded."""
    text = (ROOT / "cmake/Layers.cmake").read_text()
    table: dict[str, list[str]] = {}
    for name, body in re.findall(r"set\(FRESHET_ARROWS_(\w+)\s+([^)]*)\)", text):
        table[name] = body.replace('"', "").split()

    def expand(words: list[str]) -> set[str]:
        found: set[str] = set()
        for word in words:
            inner = re.fullmatch(r"\$\{FRESHET_ARROWS_(\w+)\}", word)
            found |= expand(table[inner[1]]) if inner else {word}
        return found

    return {name: expand(words) for name, words in table.items()}


def module_of(path: Path) -> str | None:
    """The CMake module whose arrows bind a file; none for tests, benches and tools."""
    parts = path.relative_to(ROOT).parts
    if any(p in ("tests", "bench", "examples", "experiments", "fuzz") for p in parts):
        return None
    if parts[0] in ("storage", "compute") and parts[1] == "api":
        return f"{parts[0]}_api"
    if parts[0] == "persist" and parts[1] == "dataflow":
        return "persist_dataflow"
    return parts[0]


def included_module(first: str | None, library: str | None, header: str) -> str:
    if library == "timely" and header.split("/")[-1] in TIMELY_PROGRESS:
        return "timely_progress"
    if first == "persist" and header.startswith("dataflow"):
        return "persist_dataflow"
    return first or library or ""


def late_tries(text: str) -> list[int]:
    """Lines on which FRESHET_TRY is not the first of its list: g++ 12 forgets to destroy what stands before it when
    it returns."""
    text = re.sub(r"//[^\n]*", lambda comment: " " * len(comment.group()), text)
    found = []
    for match in re.finditer(r"(?<!define )FRESHET_TRY\(", text):
        depth = 0
        for at in range(match.start() - 1, -1, -1):
            char = text[at]
            ends_line = text[at + 1] == "\n"
            if char == ";" or (ends_line and (char == "{" or (char == "}" and depth == 0))):
                break
            if char in ")]}":
                depth += 1
            elif char in "([{":
                depth -= 1
            elif char == "," and depth <= 0:
                found.append(text.count("\n", 0, match.start()) + 1)
                break
    return found


def main() -> int:
    problems: list[str] = []
    table = arrows()
    files = tracked()
    listed = "\n".join(p.read_text() for p in files if p.name == "CMakeLists.txt")
    for path in files:
        name = str(path.relative_to(ROOT))
        if path.suffix not in (".cc", ".h", ".py"):
            continue
        text = path.read_text()
        lines = text.count("\n")
        limit = TEST_LIMIT if "/tests/" in f"/{name}" else SOURCE_LIMIT
        if lines > limit and name not in GENERATED:
            problems.append(f"{name}: {lines} lines, the limit is {limit}")
        if path.suffix == ".py":
            continue
        if not text.startswith("// SPDX-License-Identifier: Apache-2.0"):
            problems.append(f"{name}: does not begin with the licence line")
        if path.suffix == ".cc" and not re.search(rf"\b{re.escape(path.stem)}\b", listed):
            problems.append(f"{name}: no CMakeLists.txt lists it")
        if re.search(r'TEST_CASE\("[^"]*",\s*"\[[.!]', text):
            problems.append(f"{name}: a test is switched off")
        problems += [f"{name}:{line}: FRESHET_TRY is not the first of its list" for line in late_tries(text)]
        module = module_of(path)
        if module not in table or module == "server":
            continue
        for first, library, header in INCLUDE.findall(text):
            used = included_module(first or None, library or None, header)
            if used not in (module, "testing") and used not in table[module] and used in table:
                problems.append(f"{name}: {module} may not include <{used}/{header}>")
    for problem in problems:
        print(problem)
    print(f"{len(files)} files read, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
