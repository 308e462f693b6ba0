# SPDX-License-Identifier: Apache-2.0
"""TPC-H views under thousands of ticks: at many times they equal PostgreSQL on the base tables of that time.

History is kept for the run. At chosen times the base tables read AS OF are loaded into PostgreSQL and six queries,
kept as materialized views, are read AS OF the same time. A SUBSCRIBE stream, accumulated, equals its view AS OF
each of its progress messages.
"""
import collections
import os
import random
import threading
import time

import report
import servers
import tpch
from compare import same


def main(argv):
    parser = report.options("churn", __doc__)
    parser.add_argument("--scale", type=float, help="scale factor (default 0.05; 0.002 with --quick)")
    parser.add_argument("--ticks", type=int, help="ticks to wait for (default 5000; 200 with --quick)")
    parser.add_argument("--times", type=int, help="times at which everything is compared (default 50; 4 with --quick)")
    parser.add_argument("--tick", default="10ms")
    arguments = parser.parse_args(argv)
    quick = arguments.quick
    arguments.scale = arguments.scale or (0.002 if quick else 0.05)
    arguments.ticks = arguments.ticks or (200 if quick else 5000)
    arguments.times = arguments.times or (4 if quick else 50)
    out = report.Report("churn")
    with report.Folder(arguments, out) as folder:
        with servers.Freshet(folder, arguments) as freshet, servers.Postgres(folder) as postgres:
            prove(out, freshet, postgres, arguments)
            out.figure("peak resident memory", freshet.peak_resident_bytes() / 2**30, "GiB")
            for line in freshet.log_errors()[:3]:
                out.fail("the log says: " + line)
    return out.finish()


def prove(out, freshet, postgres, arguments):
    history = "RETAIN HISTORY FOR '2 hours'"
    freshet.psql(tpch.TICKING_SOURCE.format(scale=f"{arguments.scale:g}", tick=arguments.tick,
                                            history=f" WITH ({history})"))
    freshet.psql(tpch.REVENUE)
    for name, sql in tpch.QUERIES.items():
        freshet.psql(f"CREATE MATERIALIZED VIEW {name} WITH ({history}) AS {sql}")
    for name in tpch.QUERIES:
        out.say(f"{name}: {freshet.rows(f'SELECT count(*) FROM {name}')[0][0]} rows at the start")
    streams = [Stream(freshet, name) for name in ("q1", "q4", "q15")]
    first = now(freshet)
    wait_for_ticks(out, freshet, arguments.ticks)
    last = now(freshet)
    for stream in streams:
        stream.stop()
    chance = random.Random(arguments.seed)
    times = sorted({first, last, *(round(chance.uniform(first, last), 3) for _ in range(arguments.times - 2))})
    tpch.create_tables(postgres)
    differences, compared = 0, 0
    for number, at in enumerate(times):
        load(freshet, postgres, at, everything=number == 0)
        for name, sql in tpch.QUERIES.items():
            expected = postgres.rows(sql)
            actual = freshet.rows(f"SELECT * FROM {name} AS OF {at}")
            compared += 1
            problem = same(expected, actual)
            if problem:
                differences += 1
                out.fail(f"{name} AS OF {at}: {problem}")
        if differences > 10:
            break
    out.figure("times compared", len(times), "")
    out.figure("answers compared", compared, "", at_least=len(times) * len(tpch.QUERIES))
    out.figure("differences", differences, "", at_most=0)
    for stream in streams:
        stream.check(out, freshet, chance, 5 if arguments.quick else 60)


def now(freshet):
    return float(freshet.rows("SELECT mz_now(), count(*) FROM q15")[0][0])


def wait_for_ticks(out, freshet, ticks):
    began = time.monotonic()
    offset = lambda: int(freshet.rows('SELECT "offset" FROM tpch')[0][0])
    start = offset()
    while offset() < start + ticks:
        time.sleep(0.2)
        if time.monotonic() - began > 60 + ticks * 0.2:
            out.fail(f"only {offset() - start} of {ticks} ticks came in {time.monotonic() - began:.0f} s")
            return
    out.figure("ticks", offset() - start, f"in {time.monotonic() - began:.1f} s")


def load(freshet, postgres, at, everything):
    """Only orders and lineitem change under churn; the rest is loaded once."""
    source, target = freshet.connect(), postgres.connect()
    for table in tpch.TABLES if everything else ("orders", "lineitem"):
        with target.cursor() as cursor:
            cursor.execute(f"TRUNCATE {table}")
        tpch.copy_table(source, target, table, as_of=at)
    with target.cursor() as cursor:
        cursor.execute("DROP VIEW IF EXISTS revenue")
        cursor.execute(tpch.REVENUE)
        cursor.execute("ANALYZE")
    source.close()
    target.close()


class Stream:
    """COPY (SUBSCRIBE … WITH (PROGRESS)) TO STDOUT on a thread; keeps every line."""

    def __init__(self, freshet, view):
        self.view = view
        self.lines = []
        self.error = None
        self.connection = freshet.connect()
        self.read, write = os.pipe()
        self.threads = [threading.Thread(target=self.copy, args=(write,)), threading.Thread(target=self.collect)]
        for thread in self.threads:
            thread.start()

    def copy(self, write):
        try:
            with os.fdopen(write, "wb") as pipe, self.connection.cursor() as cursor:
                cursor.copy_expert(f"COPY (SUBSCRIBE {self.view} WITH (PROGRESS)) TO STDOUT", pipe)
        except Exception as error:
            self.error = error

    def collect(self):
        with os.fdopen(self.read, "r") as pipe:
            for line in pipe:
                self.lines.append(line.rstrip("\n").split("\t"))

    def stop(self):
        time.sleep(1.2)  # progress comes at least once a second
        self.connection.cancel()
        for thread in self.threads:
            thread.join(20)
        self.connection.close()

    def check(self, out, freshet, chance, most):
        """At up to `most` progress messages: what was accumulated is the view just before that time."""
        if getattr(self.error, "pgcode", None) != "57014":
            out.fail(f"SUBSCRIBE {self.view} ended with {self.error!r}, not with 57014")
        progress = [i for i, line in enumerate(self.lines) if line[1] == "t"]
        chosen = set(chance.sample(progress[1:], min(most, len(progress) - 1)))
        counts, wrong, upper, pending = collections.Counter(), 0, 0.0, []
        for i, (at, progressed, diff, *row) in enumerate(self.lines):
            if float(at) < upper:
                out.fail(f"SUBSCRIBE {self.view}: an update at {at} after progress to {upper}")
                return
            if progressed != "t":
                counts[tuple(row)] += int(diff)
                continue
            upper = float(at)
            if i in chosen:
                expected = collections.Counter(freshet_lines(freshet, self.view, round(upper - 0.001, 3)))
                wrong += expected != +counts or any(n < 0 for n in counts.values())
        changes = len(self.lines) - len(progress)
        out.check(wrong == 0, f"SUBSCRIBE {self.view}: {changes} updates, {len(progress)} progress messages, accumulated equals "
                  f"the view AS OF {len(chosen)} of them", f"{wrong} differ")
        out.check(len(chosen) > 0, f"SUBSCRIBE {self.view} reports progress")


def freshet_lines(freshet, view, at):
    text = freshet.psql(f"COPY (SELECT * FROM {view} AS OF {at}) TO STDOUT")
    return [tuple(line.split("\t")) for line in text.splitlines()]
