# SPDX-License-Identifier: Apache-2.0
"""What a proof says: its figures, each with its bound, and a verdict at the end.

    report = Report("story")
    report.figure("first answer", 41.2, "s", at_most=90)
    report.check(rows == expected, "the answer equals PostgreSQL's")
    return report.finish()
"""
import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback


class Report:
    def __init__(self, name):
        self.name = name
        self.failures = []
        self.started = time.monotonic()

    def say(self, text):
        print(f"{self.name}: {text}", flush=True)

    def figure(self, what, value, unit="", at_most=None, at_least=None):
        """Prints one figure; a figure outside its bound fails the proof."""
        shown = f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
        bound = ""
        holds = True
        if at_most is not None:
            bound += f" (at most {at_most:,} {unit})"
            holds = holds and value <= at_most
        if at_least is not None:
            bound += f" (at least {at_least:,} {unit})"
            holds = holds and value >= at_least
        if holds:
            self.say(f"{what}: {shown} {unit}{bound}")
        else:
            self.fail(f"{what}: {shown} {unit}{bound}")
        return holds

    def check(self, holds, what, detail=""):
        """Says `what` was seen; with `detail` when it was not."""
        if holds:
            self.say(f"ok: {what}")
        else:
            self.fail(f"{what}{': ' + str(detail) if detail else ''}")
        return bool(holds)

    def fail(self, what):
        self.failures.append(what)
        print(f"{self.name}: FAILED: {what}", flush=True)

    def finish(self):
        took = time.monotonic() - self.started
        if self.failures:
            print(f"{self.name}: does not hold ({len(self.failures)} failures, {took:.0f} s)", flush=True)
            return 1
        print(f"{self.name}: holds ({took:.0f} s)", flush=True)
        return 0


def options(name, description):
    """The options every proof has."""
    parser = argparse.ArgumentParser(prog=f"tools/prove {name}", description=description)
    parser.add_argument("--quick", action="store_true", help="a small run, for ./test")
    parser.add_argument("--freshet", help="the binary (default: $FRESHET_BINARY, build/release, build/dev)")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FRESHET_SEED", "1")))
    parser.add_argument("--work", help="folder for data and logs (default: a temporary one)")
    parser.add_argument("--keep", action="store_true", help="keep that folder even when the proof holds")
    return parser


class Folder:
    """A proof's working folder; it stays where it is when the proof fails."""

    def __init__(self, arguments, report):
        self.report = report
        self.keep = arguments.keep or arguments.work is not None
        if arguments.work:
            os.makedirs(arguments.work, exist_ok=True)
            self.path = os.path.abspath(arguments.work)
        else:
            self.path = tempfile.mkdtemp(prefix=f"freshet-{report.name}-", dir=os.environ.get("TMPDIR", "/var/tmp"))
        os.chmod(self.path, 0o755)

    def __enter__(self):
        return self.path

    def __exit__(self, kind, error, trace):
        if kind is not None and kind is not KeyboardInterrupt:
            traceback.print_exception(kind, error, trace, file=sys.stdout)
            self.report.fail(f"{kind.__name__}: {error}".strip())
        if self.report.failures or self.keep:
            self.report.say(f"data and logs stay in {self.path}")
        else:
            shutil.rmtree(self.path, ignore_errors=True)
        return kind is not KeyboardInterrupt


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else float("nan")
