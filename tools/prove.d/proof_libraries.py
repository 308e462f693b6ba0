# SPDX-License-Identifier: Apache-2.0
"""The libraries alone build, install and serve a project outside the tree; first figures of them and of the server.

A wrong checksum fails the proof, and a figure ten times off its aim: that says that a bone is wrong.
"""
import os
import re
import shutil
import subprocess

import report
import server_figures
import servers

OUTSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "outside")
PROGRAMS = ("degrees", "bfs", "scc")
# Aims: load in seconds at 1 and 2 workers, median and p99 of a swap in microseconds, bytes per key.
SIZES = {
    "degrees": dict(nodes=10_000_000, edges=50_000_000, changes=1000, load=(2.6, 1.3), median=7, p99=18, bytes=10),
    "bfs": dict(nodes=1_000_000, edges=10_000_000, changes=1000, load=(2.9, 1.4), median=77, p99=640, bytes=None),
    "scc": dict(nodes=100_000, edges=200_000, changes=20, load=(5.9, 5.9), median=4900, p99=None, bytes=None),
}


def main(argv):
    parser = report.options("libraries", __doc__)
    parser.add_argument("--part", choices=["libraries", "server"], help="only one of the two parts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args(argv)
    out = report.Report("libraries")
    with report.Folder(arguments, out) as folder:
        if arguments.part != "server":
            outside(out, folder, arguments)
        if arguments.part != "libraries":
            server_figures.measure(out, folder, arguments)
    return out.finish()


def run(out, *command, cwd=servers.ROOT):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        out.fail(f"{' '.join(command)}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout if done.returncode == 0 else None


def outside(out, folder, arguments):
    prefix, project, build = (os.path.join(folder, name) for name in ("installed", "outside", "outside-build"))
    shutil.copytree(OUTSIDE, project)
    examples = os.path.join(project, "programs")
    shutil.copytree(os.path.join(servers.ROOT, "differential/examples"), examples)
    jobs = f"-j{arguments.jobs}"
    steps = [("cmake", "--preset", "libs-only"), ("cmake", "--build", "--preset", "libs-only", jobs),
             ("cmake", "--install", "build/libs-only", "--prefix", prefix),
             ("cmake", "-S", project, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
              f"-DEXAMPLES={examples}", f"-DCMAKE_PREFIX_PATH={prefix}"),
             ("cmake", "--build", build, jobs)]
    for step in steps:
        if run(out, *step) is None:
            return
    out.say("ok: libs-only builds and installs; a project outside finds it and builds")
    for program in PROGRAMS:
        with open(os.path.join(examples, program + ".cc")) as f:
            out.figure(f"lines of {program}", sum(1 for _ in f), "", at_most=99)
        figures(out, build, program, arguments.quick)


def figures(out, build, program, quick):
    size = SIZES[program]
    shrink = 100 if quick else 1
    graph = [str(size["nodes"] // shrink), str(size["edges"] // shrink), str(size["changes"])]
    expected = run(out, os.path.join(build, "recompute"), program, *graph)
    for workers in (1, 2):
        printed = run(out, os.path.join(build, program), *graph, str(workers))
        if printed is None:
            continue
        on = f"{program} on {workers} worker{'s' if workers > 1 else ''}"
        checksum = re.search(r"checksum [0-9a-f]{16}", printed).group()
        out.check(checksum == expected.strip(), f"{on}: {checksum} is that of the graph computed from scratch", expected)
        load = float(re.search(r"load: ([\d.]+) s", printed).group(1))
        median, p99 = re.search(r"median ([\d.]+) us, p99 ([\d.]+) us", printed).groups()
        bound = lambda aim: None if aim is None or quick else 10 * aim
        out.figure(f"{on}: load", load, "s", at_most=bound(size["load"][workers - 1]))
        out.figure(f"{on}: swap of one edge, median", float(median), "us", at_most=bound(size["median"]))
        out.figure(f"{on}: swap of one edge, p99", float(p99), "us", at_most=bound(size["p99"]))
        bytes_per_key = re.search(r"([\d.]+) bytes per key", printed)
        if bytes_per_key:
            out.figure(f"{on}: bytes per key", float(bytes_per_key.group(1)), "", at_most=bound(size["bytes"]))
        peak = re.search(r"peak (\d+) MB", printed)
        if peak:
            out.figure(f"{on}: peak", int(peak.group(1)), "MB")
