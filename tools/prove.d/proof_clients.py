# SPDX-License-Identifier: Apache-2.0
"""Many sessions at once: writers, DDL, readers and subscribers; what each sees is consistent, and SIGTERM ends it all.

Writes are settled as in the kill proof. Money moves between accounts all the time, so every read and every moment of
a subscription shows the same total. At the end the server gets SIGTERM under full load and must be gone in five
seconds; what it acknowledged is there after the restart. tools/sanitize runs this under the sanitizers.
"""
import collections
import threading
import time

import kill_writers
import proof_kill
import psycopg2
import report
import servers

TOTAL = kill_writers.Transfer.TOTAL


class Reader(kill_writers.Writer):
    """Reads the accounts by several ways; the total never changes."""

    def step(self, cursor):
        query = self.random.choice(["SELECT sum(balance) FROM accounts", "SELECT total FROM v_accounts",
                                    "SELECT sum(balance) FROM (SELECT * FROM accounts ORDER BY id LIMIT 1000) AS a"])
        cursor.execute(query)
        rows = cursor.fetchall()
        if [int(total) for total, in rows] != [TOTAL]:
            self.unexpected.append(f"{query}: {rows}, not {TOTAL}")


class Subscriber(kill_writers.Writer):
    """Opens subscriptions, follows each for a while; at every closed time the total is the same."""

    def __init__(self, number, seed):
        super().__init__(number, seed)
        self.moments = 0

    def step(self, cursor):
        cursor.execute("BEGIN")
        cursor.execute("DECLARE c CURSOR FOR SUBSCRIBE accounts WITH (PROGRESS)")
        rows, begun = collections.Counter(), False
        for _ in range(self.random.randint(1, 20)):
            cursor.execute("FETCH ALL c WITH (timeout = '0.2s')")
            for _, progressed, diff, *row in cursor.fetchall():
                if not progressed:
                    rows[tuple(row)] += int(diff)
                    begun = True
                elif begun:
                    self.moments += 1
                    total = sum(balance * n for (_, balance), n in rows.items())
                    if total != TOTAL or any(n < 0 for n in rows.values()):
                        self.unexpected.append(f"a subscription shows a total of {total}, not {TOTAL}")
        cursor.execute(self.random.choice(["COMMIT", "ROLLBACK"]))


class Visitor(kill_writers.Writer):
    """Comes, asks and goes, now and then in the middle of an answer or with a cancel."""

    def work(self, freshet):
        try:
            while not self.stopping:
                connection = freshet.connect(connect_timeout=5)
                cancel = threading.Timer(0.05, connection.cancel) if self.random.random() < 0.3 else None
                try:
                    with connection.cursor() as cursor:
                        if cancel:
                            cancel.start()
                        cursor.execute("SELECT count(*) FROM log AS a, log AS b WHERE a.seq < b.seq" if cancel else
                                       "SELECT * FROM v_log")
                except psycopg2.errors.QueryCanceled:
                    pass
                finally:
                    if cancel:
                        cancel.join()
                    connection.close()
                self.acknowledged += 1
        except kill_writers.GONE as error:
            if getattr(error, "pgcode", None) not in (None, "57P01"):
                self.unexpected.append(f"Visitor: {error.pgcode} {str(error).strip()}")
        except psycopg2.Error as error:
            self.unexpected.append(f"Visitor: {error.pgcode} {str(error).strip()}")


def run_for(freshet, clients, seconds):
    for client in clients:
        client.start(freshet)
    time.sleep(seconds)


def join(out, clients):
    for client in clients:
        client.stopping = True
    for client in clients:
        client.join()
        for problem in client.unexpected[:3]:
            out.fail(problem)
        client.unexpected.clear()


def main(argv):
    parser = report.options("clients", __doc__)
    parser.add_argument("--seconds", type=float, help="how long the clients work (default 60; 10 with --quick)")
    parser.add_argument("--server", action="append", default=[], help="an option for freshet serve, as --server=--workers=3")
    arguments = parser.parse_args(argv)
    seconds = arguments.seconds or (10 if arguments.quick else 60)
    out = report.Report("clients")
    with report.Folder(arguments, out) as folder:
        freshet = servers.Freshet(folder, arguments, extra=arguments.server)
        try:
            prove(out, freshet, arguments.seed, seconds)
        finally:
            freshet.stop()
        for line in freshet.log_errors()[:3]:
            out.fail("the log says: " + line)
    return out.finish()


def prove(out, freshet, seed, seconds):
    writers = proof_kill.writers_of(seed)
    proof_kill.create_schema(freshet, writers)
    others = [kind(100 + number, seed) for number, kind in enumerate([Reader, Reader, Subscriber, Visitor])]
    run_for(freshet, writers + others, seconds)
    join(out, writers + others)
    proof_kill.verify(out, freshet, writers)
    for kind in dict.fromkeys(type(client) for client in writers + others):
        done = sum(client.acknowledged for client in writers + others if type(client) is kind)
        out.figure(f"{kind.__name__}: steps done", done, at_least=1)
    out.figure("moments of subscriptions checked", others[2].moments, at_least=1)
    run_for(freshet, writers + others, 2)
    took = freshet.stop()
    out.check(took is not None and took < 5, "SIGTERM under load ends the server within 5 s",
              f"{took and round(took, 1)} s")
    out.check(freshet.process.returncode == 0, "and its exit status is 0", freshet.process.returncode)
    join(out, writers + others)
    freshet.start()
    proof_kill.verify(out, freshet, writers)
    out.say("what was acknowledged is there after the restart")
