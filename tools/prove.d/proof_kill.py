# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments under concurrent INSERT, UPDATE, COPY, transactions and DDL.

After each restart: every acknowledged write is there once, no transaction is half there, each view equals
its query computed anew at the same time, the catalog is whole.
"""
import os
import random
import subprocess
import time

import kill_writers
import report
import servers
from compare import same

VIEWS = {
    "v_log": "SELECT writer, half, count(*) AS n, max(seq) AS last FROM log GROUP BY writer, half",
    "v_accounts": "SELECT sum(balance) AS total, min(balance) AS least, count(*) AS n FROM accounts",
    "v_batches": "SELECT writer, batch, count(*) AS n, sum(item) AS items FROM batches GROUP BY writer, batch",
    "v_halves": "SELECT l.writer, l.seq FROM left_half AS l LEFT JOIN right_half AS r "
                "ON l.writer = r.writer AND l.seq = r.seq WHERE r.seq IS NULL",
    "v_top": "SELECT id, n, (SELECT count(*) FROM log WHERE writer = id) AS inserts FROM counters ORDER BY n DESC, id LIMIT 3",
}


def main(argv):
    parser = report.options("kill", __doc__)
    parser.add_argument("--rounds", type=int, help="kills (default 100; 3 with --quick)")
    parser.add_argument("--seeds", type=int, help="seeds of the simulated crash test (default 1000; 0 with --quick)")
    parser.add_argument("--mutants", action="store_true", help="also take out each fsync and expect the seeds to fail")
    arguments = parser.parse_args(argv)
    rounds = arguments.rounds if arguments.rounds is not None else (3 if arguments.quick else 100)
    seeds = arguments.seeds if arguments.seeds is not None else (0 if arguments.quick else 1000)
    out = report.Report("kill")
    with report.Folder(arguments, out) as folder:
        if rounds:
            kill_rounds(out, folder, arguments, rounds)
        if seeds:
            simulated_crashes(out, seeds)
        if arguments.mutants:
            done = subprocess.run([os.path.join(servers.ROOT, "tests/mutants/persist/check")], text=True,
                                  capture_output=True)
            print(done.stdout, end="")
            out.check(done.returncode == 0, "each missing fsync is caught")
    return out.finish()


def writers_of(seed):
    kinds = [kill_writers.Inserter, kill_writers.Inserter, kill_writers.TwoTables, kill_writers.Counter,
             kill_writers.Counter, kill_writers.Transfer, kill_writers.Copier, kill_writers.Definer]
    return [kind(number, seed) for number, kind in enumerate(kinds)]


def create_schema(freshet, writers):
    for kind in dict.fromkeys(type(writer) for writer in writers):
        for statement in filter(None, kind.schema.split(";")):
            freshet.run(statement)
    for i, (name, query) in enumerate(VIEWS.items()):
        freshet.run(f"CREATE {'VIEW' if i % 2 else 'MATERIALIZED VIEW'} {name} AS {query}")
        if i % 2:
            freshet.run(f"CREATE INDEX {name}_idx ON {name} ({'total' if name == 'v_accounts' else 'writer'})")


def verify(out, freshet, writers):
    connection = freshet.connect()
    with connection.cursor() as cursor:
        for writer in writers:
            for problem in writer.verify(cursor):
                out.fail(problem)
        for name, query in VIEWS.items():
            cursor.execute("BEGIN")
            cursor.execute(f"SELECT * FROM {name}")
            maintained = cursor.fetchall()
            cursor.execute(query)
            problem = same(cursor.fetchall(), maintained)
            cursor.execute("COMMIT")
            if problem:
                out.fail(f"{name} differs from its query computed anew: {problem}")
        if cursor.execute("SELECT * FROM v_halves") or cursor.fetchall():
            out.fail("v_halves shows half a transaction")
    connection.close()


def kill_rounds(out, folder, arguments, rounds):
    chance = random.Random(arguments.seed)
    writers = writers_of(arguments.seed)
    starts = []
    freshet = servers.Freshet(folder, arguments)
    try:
        create_schema(freshet, writers)
        for number in range(rounds):
            for writer in writers:
                writer.start(freshet)
            time.sleep(chance.choice([0.05, 0.3, 1, 3]) * (0.3 + chance.random()))
            alive = freshet.alive()
            freshet.kill()
            if not out.check(alive, f"round {number + 1}: alive until killed, "
                             f"{sum(w.acknowledged for w in writers)} writes acknowledged so far", freshet.log_tail()):
                return
            for writer in writers:
                writer.join()
                for problem in writer.unexpected:
                    out.fail(problem)
                writer.unexpected = []
            began = time.monotonic()
            freshet.start(wait=60)
            verify(out, freshet, writers)
            starts.append(time.monotonic() - began)
            if len(out.failures) > 20:
                return
        for writer in writers:
            out.figure(f"{type(writer).__name__} {writer.number}: acknowledged", writer.acknowledged,
                       f"(and {writer.retried} conflicts)")
        out.figure("kills", rounds)
        out.figure("slowest restart, verification included", max(starts), "s")
        out.figure("acknowledged writes", sum(w.acknowledged for w in writers), "", at_least=10 * rounds)
        stopped = freshet.stop()
        out.check(stopped is not None, "SIGTERM ends it", freshet.log_tail())
        for line in freshet.log_errors()[:5]:
            out.fail("the log says: " + line)
    finally:
        freshet.kill()


def simulated_crashes(out, seeds):
    for preset in ("release", "dev"):
        test = os.path.join(servers.ROOT, "build", preset, "bin/persist_crash_test")
        if os.access(test, os.X_OK):
            done = subprocess.run([test], env={**os.environ, "FRESHET_CRASH_SEEDS": str(seeds)}, text=True,
                                  capture_output=True)
            out.check(done.returncode == 0, f"{seeds} seeds on files and SQLite that lose and tear unsynced writes",
                      done.stdout[-600:])
            return
    out.fail("persist_crash_test is not built")
