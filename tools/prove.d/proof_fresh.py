# SPDX-License-Identifier: Apache-2.0
"""From a clean clone, with no build folder and no compiler cache, ./run --once and ./test pass in time."""
import os
import subprocess
import time

import report
import servers


def main(argv):
    parser = report.options("fresh", __doc__)
    parser.add_argument("--minutes", type=float, default=15, help="the time the build with tests may take")
    parser.add_argument("--skip-test", action="store_true", help="only ./run --once")
    arguments = parser.parse_args(argv)
    out = report.Report("fresh")
    with report.Folder(arguments, out) as folder:
        clone = os.path.join(folder, "freshet")
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", servers.ROOT, clone], check=True)
        # The cache is switched off, and a PostgreSQL data or build folder of ours is not in the clone.
        environment = {**os.environ, "CCACHE_DISABLE": "1", "NINJA_STATUS": "[%f/%t %es] "}
        environment.pop("FRESHET_BINARY", None)
        steps = [(["./run", "--once"], "run")]
        if not arguments.skip_test:
            steps.append((["cmake", "--build", "--preset", "release"], "build of the tests"))
            steps.append((["./test"], "test"))
        took = {}
        for command, name in steps:
            log = os.path.join(folder, name.replace(" ", "-") + ".log")
            began = time.monotonic()
            with open(log, "w") as f:
                code = subprocess.run(command, cwd=clone, env=environment, stdout=f, stderr=subprocess.STDOUT,
                                      stdin=subprocess.DEVNULL).returncode
            took[name] = time.monotonic() - began
            with open(log, errors="replace") as f:
                tail = "".join(f.readlines()[-12:])
            out.check(code == 0, f"{' '.join(command)} passes", f"exit {code}\n{tail}")
            out.figure(" ".join(command), took[name] / 60, "min")
            if name == "run":
                print(tail, end="")
                out.check("Supplier#" in tail, "./run --once shows the top supplier", tail)
            if code != 0:
                break
        built = took.get("run", 0) + took.get("build of the tests", 0)
        out.figure("clean release build with tests (and the demo)", built / 60, "min", at_most=arguments.minutes)
    return out.finish()
