# SPDX-License-Identifier: Apache-2.0
"""The demo, verbatim, through psql; then the same under churn, read every 100 ms."""
import threading
import time

import report
import servers
import tpch
from compare import same


def main(argv):
    parser = report.options("story", __doc__)
    parser.add_argument("--scale", type=float, help="scale factor (default 1; 0.01 with --quick)")
    parser.add_argument("--seconds", type=float, help="how long the churn lasts (default 300; 8 with --quick)")
    parser.add_argument("--part", choices=["demo", "churn"], help="only one of the two parts")
    arguments = parser.parse_args(argv)
    scale = arguments.scale or (0.01 if arguments.quick else 1)
    seconds = arguments.seconds or (8 if arguments.quick else 300)
    out = report.Report("story")
    with report.Folder(arguments, out) as folder:
        if arguments.part != "churn":
            demo(out, folder, arguments, f"{scale:g}")
        if arguments.part != "demo":
            churn(out, folder, arguments, f"{scale:g}", seconds)
    return out.finish()


def demo(out, folder, arguments, scale):
    with servers.Freshet(folder, arguments, "demo") as freshet:
        began = time.monotonic()
        # The revenue view comes before the demo's lines, but needs the source's tables.
        answer = freshet.psql(tpch.DEMO_SOURCE.format(scale=scale), tpch.REVENUE, tpch.DEMO_VIEW, tpch.DEMO_INDEX,
                              tpch.DEMO_READ, timeout=600)
        first = time.monotonic() - began
        out.figure(f"CREATE SOURCE to the first answer, scale factor {scale}", first, "s", at_most=90)
        out.say("the answer: " + answer.strip().replace("\n", " / "))
        out.check(answer.strip() != "", "the first answer is not empty")
        snapshot = subscribe_snapshot(freshet)
        out.check(snapshot.strip() != "", "COPY (SUBSCRIBE tpch_q15) TO STDOUT shows the view", snapshot)
        out.figure("peak resident memory", freshet.peak_resident_bytes() / 2**30, "GiB", at_most=8)
        with servers.Postgres(folder) as postgres:
            tables = ["supplier", "lineitem"]
            tpch.create_tables(postgres, tables)
            source, target = freshet.connect(autocommit=False), postgres.connect()
            with source.cursor() as cursor:  # one transaction reads at one timestamp
                cursor.execute(tpch.DEMO_READ)
                actual = cursor.fetchall()
            for table in tables:
                tpch.copy_table(source, target, table)
            source.commit()
            with target.cursor() as cursor:
                cursor.execute(tpch.REVENUE)
                cursor.execute(tpch.Q15)
                expected = cursor.fetchall()
            problem = same(expected, actual)
            out.check(problem is None, "the answer equals PostgreSQL's on the exported tables", problem)
            source.close()
            target.close()
        out.figure("peak resident memory after the export", freshet.peak_resident_bytes() / 2**30, "GiB", at_most=8)
        stopped = freshet.stop()
        out.check(stopped is not None and stopped < 5, "SIGTERM ends the server within 5 s", stopped)
        for line in freshet.log_errors()[:3]:
            out.fail("the log says: " + line)


def subscribe_snapshot(freshet):
    """What `COPY (SUBSCRIBE tpch_q15) TO STDOUT` prints until it is cancelled after three seconds, through psql."""
    import subprocess
    done = subprocess.run(["timeout", "--signal=INT", "3", "psql", "-X", "-q", freshet.address, "-c",
                           "COPY (SUBSCRIBE tpch_q15) TO STDOUT;"], capture_output=True, text=True)
    return done.stdout or done.stderr


class Reader(threading.Thread):
    """Reads the view every 100 ms, strictly serializable, and notes how old each answer is."""

    def __init__(self, freshet, until):
        super().__init__()
        self.connection = freshet.connect()
        self.until = until
        self.ages_ms, self.latencies_ms, self.failures, self.last_served = [], [], [], None

    def run(self):
        due = time.time()
        with self.connection.cursor() as cursor:
            cursor.execute("SET transaction_isolation = 'strict serializable'")
            while time.time() < self.until:
                try:
                    began = time.time()
                    cursor.execute("SELECT mz_now(), * FROM tpch_q15")
                    rows = cursor.fetchall()
                    ended = time.time()
                    self.latencies_ms.append((ended - began) * 1000)
                    if rows:
                        served = float(rows[0][0])
                        self.ages_ms.append(ended * 1000 - served)
                        if self.last_served is not None and served < self.last_served:
                            self.failures.append(f"time went back: {self.last_served} then {served}")
                        self.last_served = served
                except Exception as error:
                    self.failures.append(f"{type(error).__name__}: {str(error).strip()}")
                due += 0.1
                time.sleep(max(0.0, due - time.time()))


def churn(out, folder, arguments, scale, seconds):
    tick = 0.01
    with servers.Freshet(folder, arguments, "churn") as freshet:
        freshet.psql(tpch.TICKING_SOURCE.format(scale=scale, tick="10ms", history=""), tpch.REVENUE, tpch.DEMO_VIEW,
                     tpch.DEMO_INDEX, tpch.DEMO_READ, timeout=900)
        offset = 'SELECT "offset" FROM tpch'
        out.say(f"churn: scale factor {scale}, a tick every 10 ms, for {seconds:g} s")
        start_offset, began = int(freshet.rows(offset)[0][0]), time.time()
        reader = Reader(freshet, began + seconds)
        reader.start()
        reader.join()
        end_offset, ended = int(freshet.rows(offset)[0][0]), time.time()
        due = (ended - began) / tick
        out.check(not reader.failures, "every read answered", reader.failures[:3])
        out.figure("reads", len(reader.latencies_ms), "", at_least=int(seconds * 10 * 0.9))
        out.figure("read latency p50", report.quantile(reader.latencies_ms, 0.5), "ms")
        out.figure("read latency p99", report.quantile(reader.latencies_ms, 0.99), "ms")
        out.figure("freshness p50", report.quantile(reader.ages_ms, 0.5), "ms")
        out.figure("freshness p99", report.quantile(reader.ages_ms, 0.99), "ms", at_most=1000)
        out.figure("ticks visible", (end_offset - start_offset), f"of {due:,.0f} due")
        out.figure("share of due ticks visible", 100.0 * (end_offset - start_offset) / due, "%", at_least=95)
        out.figure("peak resident memory under churn", freshet.peak_resident_bytes() / 2**30, "GiB", at_most=8)
        out.figure("CPU", freshet.cpu_seconds(), "s in all")
        recompute(out, freshet)
        for line in freshet.log_errors()[:3]:
            out.fail("the log says: " + line)


def recompute(out, freshet):
    """The maintained view equals the same query computed anew, at one timestamp."""
    connection = freshet.connect(autocommit=False)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM tpch_q15")
        maintained = cursor.fetchall()
        cursor.execute(tpch.Q15)
        problem = same(cursor.fetchall(), maintained)
        out.check(problem is None, "the view equals its query computed anew at the same time", problem)
    connection.rollback()
    connection.close()
