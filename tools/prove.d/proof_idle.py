# SPDX-License-Identifier: Apache-2.0
"""A thousand materialized views over a hundred quiet tables cost no CPU: not beside a load, not when all is quiet."""
import threading
import time

import report
import servers


class Load:
    """200 INSERTs a second into one table, 50 reads a second of a view on it; paced, from two sessions."""

    def __init__(self, freshet):
        self.freshet = freshet
        self.stopping = False
        self.done = {"insert": 0, "read": 0}
        self.failures = []
        self.threads = [threading.Thread(target=self.repeat, args=("insert", 1 / 200)),
                        threading.Thread(target=self.repeat, args=("read", 1 / 50))]
        for thread in self.threads:
            thread.start()

    def repeat(self, what, pause):
        try:
            with self.freshet.connect().cursor() as cursor:
                due = time.monotonic()
                while not self.stopping:
                    if what == "insert":
                        cursor.execute(f"INSERT INTO busy VALUES ({self.done[what] % 100}, 1)")
                    else:
                        cursor.execute("SELECT * FROM busy_sums WHERE k = 7")
                        cursor.fetchall()
                    self.done[what] += 1
                    due += pause
                    time.sleep(max(0.0, due - time.monotonic()))
        except Exception as error:
            self.failures.append(error)

    def measure(self, seconds):
        time.sleep(2)  # past the start
        before, counts, began = self.freshet.cpu_seconds(), dict(self.done), time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        share = 100 * (self.freshet.cpu_seconds() - before) / took
        rates = {what: (self.done[what] - counts[what]) / took for what in counts}
        self.stopping = True
        for thread in self.threads:
            thread.join()
        return share, rates


def main(argv):
    parser = report.options("idle", __doc__)
    parser.add_argument("--views", type=int, help="quiet views (default 1000; 100 with --quick)")
    parser.add_argument("--seconds", type=float, help="how long each measurement lasts (default 60; 6 with --quick)")
    arguments = parser.parse_args(argv)
    views = arguments.views or (100 if arguments.quick else 1000)
    seconds = arguments.seconds or (6 if arguments.quick else 60)
    out = report.Report("idle")
    with report.Folder(arguments, out) as folder, servers.Freshet(folder, arguments) as freshet:
        prove(out, freshet, views, seconds)
        for line in freshet.log_errors()[:3]:
            out.fail("the log says: " + line)
    return out.finish()


def prove(out, freshet, views, seconds):
    freshet.run("CREATE TABLE busy (k int, n int)")
    freshet.run("CREATE VIEW busy_sums AS SELECT k, sum(n) AS n, count(*) AS c FROM busy GROUP BY k")
    freshet.run("CREATE INDEX busy_sums_k ON busy_sums (k)")
    alone = run_load(out, freshet, seconds, "without quiet views")
    tables = max(1, views // 10)
    connection = freshet.connect()
    began = time.monotonic()
    with connection.cursor() as cursor:
        for t in range(tables):
            cursor.execute(f"CREATE TABLE quiet_{t} (k int, n int)")
            cursor.execute(f"INSERT INTO quiet_{t} SELECT g, g FROM generate_series(1, 10) AS g")
        for v in range(views):
            cursor.execute(f"CREATE MATERIALIZED VIEW quiet_view_{v} AS SELECT k % {v % 7 + 2} AS k, sum(n) AS n "
                           f"FROM quiet_{v % tables} GROUP BY 1")
        out.figure(f"creating {tables} tables and {views} materialized views", time.monotonic() - began, "s")
        for v in range(0, views, 37):
            cursor.execute(f"SELECT sum(n) FROM quiet_view_{v}")
            if cursor.fetchone()[0] != 55:
                out.fail(f"quiet_view_{v} is wrong")
    out.figure("resident memory with the views", freshet.resident_bytes() / 2**20, "MiB")
    time.sleep(3)
    beside = run_load(out, freshet, seconds, f"beside {views} quiet views")
    out.figure("CPU that the quiet views add", beside - alone, "% of a core", at_most=1.0)
    time.sleep(2)
    before, began = freshet.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    out.figure("CPU with all quiet", 100 * (freshet.cpu_seconds() - before) / (time.monotonic() - began), "% of a core",
               at_most=1.0)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO quiet_0 VALUES (1, 100)")
        cursor.execute("SELECT sum(n) FROM quiet_view_0")
        out.check(cursor.fetchone()[0] == 155, "a quiet view still follows its table")


def run_load(out, freshet, seconds, when):
    load = Load(freshet)
    share, rates = load.measure(seconds)
    out.check(not load.failures, f"the load ran {when}", load.failures[:1])
    out.figure(f"CPU {when}", share, f"% of a core at {rates['insert']:.0f} INSERTs/s and {rates['read']:.0f} reads/s")
    if rates["insert"] < 190 or rates["read"] < 47:
        out.fail(f"the machine did not keep up with the load {when}: {rates}")
    return share
