# SPDX-License-Identifier: Apache-2.0
"""Random plans and histories: maintained results equal the naive engine's, and canary mutants are caught."""
import os
import subprocess

import report
import servers


def main(argv):
    parser = report.options("ivm", __doc__)
    parser.add_argument("--seeds", type=int, help="seeds (default 20000; 50 with --quick)")
    parser.add_argument("--mutants", action="store_true", help="also apply each canary mutant and expect a failure")
    arguments = parser.parse_args(argv)
    seeds = arguments.seeds or (50 if arguments.quick else 20000)
    out = report.Report("ivm")
    found = [path for preset in ("release", "dev")
             if os.access(path := os.path.join(servers.ROOT, "build", preset, "bin/compute_ivm"), os.X_OK)]
    if not found:
        out.fail("compute_ivm is not built (cmake --build --preset release --target compute_ivm)")
        return out.finish()
    # It prints how often each node, form, join, aggregate, error path and recursion occurred, and fails below its bounds.
    # Few seeds say nothing about how often; from 1,000 on a hundredth of them is asked for (200 of 20,000).
    least = seeds // 100 if seeds >= 1000 else 0
    code = subprocess.run([found[0], "--seeds", str(seeds), "--least", str(least)]).returncode
    out.check(code == 0, f"{seeds} seeds: every maintained result equals the naive engine's", f"exit {code}")
    if arguments.mutants:
        for folder in ("compute", "sql"):
            check = os.path.join(servers.ROOT, "tests/mutants", folder, "check")
            if os.access(check, os.X_OK):
                out.check(subprocess.run([check]).returncode == 0, f"every mutant of {folder} is caught")
            else:
                out.fail(f"tests/mutants/{folder}/check does not exist")
    return out.finish()
