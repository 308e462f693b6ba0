# SPDX-License-Identifier: Apache-2.0
"""First figures of the server, beside PostgreSQL's in the same run. Each fails when ten times off its aim."""
import os
import subprocess
import tempfile
import threading
import time

import report
import servers
import wire

ROWS = 100_000


def measure(out, folder, arguments):
    quick = arguments.quick
    with servers.Freshet(folder, arguments, "figures") as freshet, servers.Postgres(folder, "figures-postgres") as postgres:
        for server in (freshet, postgres):
            server.run("CREATE TABLE points (id int, v text)")
            server.run(f"INSERT INTO points SELECT g, 'value ' || g FROM generate_series(1, {ROWS}) AS g")
            server.run("CREATE TABLE inserts (id int, v text)")
        freshet.run("CREATE INDEX points_id ON points (id)")
        postgres.run("CREATE INDEX points_id ON points (id); ANALYZE points")
        lookups(out, freshet, postgres, folder, 2 if quick else 10)
        inserts(out, freshet, postgres, 1 if quick else 5)
        subscribe_latency(out, freshet, 100 if quick else 1000)
        waiting_callers(out, freshet)
        hydration(out, freshet, 50_000 if quick else 2_000_000, quick)


def lookups(out, freshet, postgres, folder, seconds):
    """Prepared point lookups per second through pgbench, which is the same client for both."""
    script = os.path.join(folder, "lookup.sql")
    with open(script, "w") as f:
        f.write(f"\\set id random(1, {ROWS})\nSELECT v FROM points WHERE id = :id;\n")
    pgbench = os.path.join(postgres.bin, "pgbench")
    for clients in (1, 16):
        rates = {}
        for server in (postgres, freshet):
            done = subprocess.run([pgbench, "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(clients, 2)), "-T", str(seconds),
                                   "-f", script, "-h", "127.0.0.1", "-p", str(server.port), "-U", server.user, server.database],
                                  capture_output=True, text=True)
            rate = [line for line in done.stdout.splitlines() if line.startswith("tps")]
            if done.returncode != 0 or not rate:
                out.fail(f"pgbench against {type(server).__name__}: {done.stderr[-400:]}")
                return
            rates[server] = float(rate[0].split()[2])
        out.figure(f"prepared point lookups, {clients} connections, PostgreSQL", rates[postgres], "/s")
        out.figure(f"prepared point lookups, {clients} connections, Freshet", rates[freshet], "/s", at_least=rates[postgres] / 10)


def inserts(out, freshet, postgres, seconds):
    rates = {}
    for server in (postgres, freshet):
        session = wire.Wire(server.port, server.user, server.database)
        count, began = 0, time.monotonic()
        while time.monotonic() - began < seconds:
            answer = session.query(f"INSERT INTO inserts VALUES ({count}, 'x')")
            if answer.error:
                out.fail(f"INSERT: {answer.error}")
                return
            count += 1
        rates[server] = count / (time.monotonic() - began)
        session.close()
    out.figure("INSERTs (durable) in one session, PostgreSQL", rates[postgres], "/s")
    out.figure("INSERTs (durable) in one session, Freshet", rates[freshet], "/s", at_least=rates[postgres] / 10)


def subscribe_latency(out, freshet, rounds):
    """From the INSERT's acknowledgement to the row at a subscriber of an indexed view (0 when it came before)."""
    freshet.run("CREATE TABLE watched (id int, v int)")
    freshet.run("CREATE VIEW watched_view AS SELECT id, sum(v) AS v FROM watched GROUP BY id")
    freshet.run("CREATE INDEX watched_view_id ON watched_view (id)")
    watcher, writer = wire.Wire(freshet.port), wire.Wire(freshet.port)
    watcher.send(b"Q", b"COPY (SUBSCRIBE watched_view) TO STDOUT\0")
    seen, arrived = {}, threading.Condition()

    def watch():
        try:
            while True:
                kind, body = watcher.receive()
                if kind != b"d":
                    continue
                with arrived:
                    seen[int(body.split(b"\t")[2])] = time.perf_counter()
                    arrived.notify()
        except wire.Gone:
            pass

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    acknowledged, delays, round_trips = {}, [], []
    for i in range(rounds):
        began = time.perf_counter()
        writer.query(f"INSERT INTO watched VALUES ({i}, 1)")
        acknowledged[i] = time.perf_counter()
        round_trips.append((acknowledged[i] - began) * 1000)
        with arrived:
            if not arrived.wait_for(lambda: i in seen, timeout=10):
                out.fail(f"row {i} never reached the subscriber")
                return
        delays.append(max(0.0, seen[i] - acknowledged[i]) * 1000)
    out.figure("INSERT, round trip, median", report.quantile(round_trips, 0.5), "ms")
    out.figure("INSERT acknowledged to SUBSCRIBE row received, p50", report.quantile(delays, 0.5), "ms", at_most=10)
    out.figure("INSERT acknowledged to SUBSCRIBE row received, p99", report.quantile(delays, 0.99), "ms")


def waiting_callers(out, freshet):
    """16 sessions that all read while another writes: each read sees every write acknowledged before it began."""
    writer = wire.Wire(freshet.port)
    writer.query("CREATE TABLE shared (n int)")
    state = {"acknowledged": 0, "stop": False}
    stale, counts = [], []

    def caller():
        session = wire.Wire(freshet.port)
        reads = 0
        while not state["stop"]:
            before = state["acknowledged"]
            rows = session.query("SELECT count(*) FROM shared").rows
            reads += 1
            if not rows or int(rows[0][0]) < before:
                stale.append((rows, before))
        counts.append(reads)
        session.close()

    threads = [threading.Thread(target=caller) for _ in range(16)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    while time.monotonic() - began < 3:
        writer.query("INSERT INTO shared VALUES (1)")
        state["acknowledged"] += 1
    state["stop"] = True
    for thread in threads:
        thread.join(30)
    out.check(len(counts) == 16 and not stale, "16 callers that wait at once all see what was acknowledged", stale[:3])
    out.figure("their reads", sum(counts) / 3, "/s")
    out.figure("the writer beside them", state["acknowledged"] / 3, "INSERTs/s")


def hydration(out, freshet, rows, quick):
    """Rows a second from a stored table into a new index, and what a row costs there."""
    freshet.run("CREATE TABLE stored (id bigint, a bigint, b text)")
    with tempfile.TemporaryFile() as f:
        raw = 0
        for i in range(rows):
            line = b"%d\t%d\tname of row %d\n" % (i, i * 7919 % 1000003, i)
            raw += 16 + len(line.split(b"\t")[2]) - 1
            f.write(line)
        f.seek(0)
        connection = freshet.connect()
        began = time.monotonic()
        with connection.cursor() as cursor:
            cursor.copy_expert("COPY stored FROM STDIN", f)
        out.figure("COPY", rows / (time.monotonic() - began), "rows/s")
    freshet.kill()  # what is resident afterwards belongs to the index
    freshet.start()
    time.sleep(1)
    before, cpu, began = freshet.resident_bytes(), freshet.cpu_seconds(), time.monotonic()
    freshet.run("CREATE INDEX stored_id ON stored (id)")
    counted = freshet.rows("SELECT b FROM stored WHERE id = 4711")
    took, used = time.monotonic() - began, freshet.cpu_seconds() - cpu
    out.check(counted == [("name of row 4711",)], "the index answers", counted)
    out.figure("hydration of an index", rows / took, "rows/s")
    out.figure("hydration of an index, per core", rows / max(used, 0.001), "rows/s", at_least=None if quick else 700_000)
    time.sleep(2)
    per_row = (freshet.resident_bytes() - before) / rows
    out.figure("raw bytes of a row", raw / rows, "")
    out.figure("resident bytes of a row in the index", per_row, "", at_most=None if quick else 20 * raw / rows)
