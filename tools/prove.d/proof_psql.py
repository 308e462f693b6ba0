# SPDX-License-Identifier: Apache-2.0
"""psql's backslash commands give no errors, and the text it shows of a view makes the same view elsewhere.

Every command of psql 15 that lists objects runs with S, with + and with patterns. Every query of tests/slt becomes a
view with and without a column list; what pg_get_viewdef (and so \\sv, \\ev, \\d+) shows of it is run under another
search_path, and must give the same columns and rows.
"""
import glob
import os
import re
import subprocess
import sys

import psycopg2
import report
import servers

sys.path.insert(0, os.path.join(servers.ROOT, "tests/slt"))
import runner  # noqa: E402

# Of psql 15's \?; those that take a pattern with a schema, those that take a name, those that take neither.
WITH_SCHEMA = ("d da dc dconfig dC dd dD ddp dE df dfa dfn dfp dft dfw dF dFd dFp dFt di dm do dO dp dP dPi dPt dPn ds dt "
               "dT dtvmsE dtiv du dv dX z").split()
WITH_NAME = "dA dAc dAf dAo dAp db des det deu dew dg dL dn drds dRp dRs dx dy dconfig l".split()
ALONE = ["conninfo", "encoding", "lo_list", "dl", "d kept", "d+ kept", "d kept_key", "d+ shown", "d+ stored", "sv shown",
         "sv+ shown", "d+ numbers", "d pg_class", "d+ pg_catalog.pg_proc", "dT+ numeric", "df+ pg_catalog.sum", "z kept",
         "dconfig+ search_path", "d+ information_schema.columns"]
CHANGES_BY_ITSELF = re.compile(r"\b(now|current_\w+|clock_timestamp|mz_now|to_reg\w+|\w*regclass|pg_\w+|information_schema)\b", re.I)


def commands():
    for command in WITH_SCHEMA:
        for end in ("", "+", "S", "S+", " k*", "+ k*", " pg_catalog.pg_c*", "+ public.*"):
            yield command + end
    for command in WITH_NAME:
        for end in ("", "+", " a*", "+ a*"):
            yield command + end
    yield from ALONE


def backslash_commands(out, freshet, folder):
    freshet.psql("CREATE TABLE kept (id int NOT NULL, name text DEFAULT 'none', price numeric(8,2), active bool)",
                 "CREATE INDEX kept_key ON kept (id, (id + 1))",
                 "CREATE VIEW shown (key, total) AS SELECT id, sum(price) FROM kept GROUP BY id",
                 "CREATE MATERIALIZED VIEW stored AS SELECT name, count(*) FROM kept GROUP BY name",
                 "CREATE SOURCE numbers FROM LOAD GENERATOR COUNTER")
    asked = list(commands())
    script = os.path.join(folder, "commands.sql")
    with open(script, "w") as f:
        f.writelines(f"\\{command}\n" for command in asked)
    done = subprocess.run(["psql", "-X", "-f", script, freshet.address], capture_output=True, text=True, timeout=600)
    bad = [line for line in done.stderr.splitlines() if "ERROR" in line]
    for line in bad:
        number = int(line.split(":")[2])
        out.fail(f"\\{asked[number - 1]}: {line.split('ERROR:')[1].strip()}")
    out.check(not bad, f"{len(asked)} backslash commands give no error", done.stderr[-500:])
    shown = freshet.psql("\\df sum")
    out.check("integer" in shown and "bigint" in shown, "\\df shows the types of arguments and results", shown)
    shown = freshet.psql("SELECT 'kept'::regclass, oid::regclass, 'int4'::regtype FROM pg_class WHERE relname = 'shown' ORDER BY 2")
    out.check(shown == "kept|shown|integer\n", "regclass and regtype are shown as names", shown)
    shown = freshet.psql("SHOW COLUMNS FROM kept")
    out.check([line.split("|")[0] for line in shown.splitlines()] == ["id", "name", "price", "active"],
              "SHOW COLUMNS goes by position", shown)


def columns(cursor, name):
    cursor.execute(f"SELECT * FROM {name} LIMIT 0")
    return [(column.name, column.type_code, column.internal_size) for column in cursor.description]


class Views:
    """Makes views in the database of one file, and tries what is shown of them."""

    def __init__(self, out, connection, path):
        self.out, self.path = out, os.path.basename(path)
        self.cursor = connection.cursor()
        self.cursor.execute("CREATE SCHEMA elsewhere")
        self.tried = 0

    def try_query(self, sql):
        try:
            self.cursor.execute(f"CREATE VIEW original AS {sql}")
        except psycopg2.Error:
            return
        found = columns(self.cursor, "original")
        self.round_trip(sql, "original")
        self.cursor.execute("DROP VIEW original")
        names = ", ".join('"select"' if i == 0 else f"c{i}" for i in range(len(found)))
        self.cursor.execute(f"CREATE VIEW original ({names}) AS {sql}")
        self.round_trip(sql, "original")
        self.cursor.execute("DROP VIEW original")

    def round_trip(self, sql, name):
        self.tried += 1
        self.cursor.execute(f"SELECT pg_get_viewdef('{name}'::regclass)")
        text = self.cursor.fetchone()[0]
        try:
            self.cursor.execute("SET search_path = elsewhere")
            self.cursor.execute(f"CREATE VIEW copy AS {text}")
            self.cursor.execute("SET search_path = public")
        except psycopg2.Error as error:
            self.cursor.execute("SET search_path = public")
            self.out.fail(f"{self.path}: {sql}: shown as {text}: {error}")
            return
        if columns(self.cursor, name) != columns(self.cursor, "elsewhere.copy"):
            self.out.fail(f"{self.path}: {sql}: columns {columns(self.cursor, name)} became "
                          f"{columns(self.cursor, 'elsewhere.copy')}")
        elif not CHANGES_BY_ITSELF.search(sql):
            self.same_rows(sql, name)
        self.cursor.execute("DROP VIEW elsewhere.copy")

    def same_rows(self, sql, name):
        contents = []
        for relation in (name, "elsewhere.copy"):
            try:
                self.cursor.execute(f"SELECT * FROM {relation}")
                contents.append(sorted(map(repr, self.cursor.fetchall())))
            except psycopg2.Error as error:
                contents.append(error.pgcode)
        if contents[0] != contents[1]:
            self.out.fail(f"{self.path}: {sql}: {contents[0][:3]} became {contents[1][:3]}")


def round_trips(out, freshet, quick):
    tried = 0
    paths = sorted(glob.glob(os.path.join(servers.ROOT, "tests/slt/*.slt")))
    for number, path in enumerate(paths):
        freshet.run(f"CREATE DATABASE file{number}")
        connection = psycopg2.connect(freshet.address.replace("dbname=materialize", f"dbname=file{number}"))
        connection.autocommit = True
        views = Views(out, connection, path)
        seen = set()
        with open(path) as f:
            records = runner.parse(f.read().splitlines())
        for record in records:
            if record.kind == "statement" and getattr(record, "connection", None) in (None, "", "default"):
                try:
                    views.cursor.execute(record.sql)
                except psycopg2.Error:
                    connection.rollback()
            elif record.kind == "query" and record.sql not in seen and not (quick and len(seen) >= 60):
                seen.add(record.sql)
                views.try_query(record.sql)
        tried += views.tried
        connection.close()
        freshet.run(f"DROP DATABASE file{number} CASCADE")
    out.figure("views shown and made again", tried, at_least=500)


def main(argv):
    parser = report.options("psql", __doc__)
    arguments = parser.parse_args(argv)
    out = report.Report("psql")
    with report.Folder(arguments, out) as folder, servers.Freshet(folder, arguments) as freshet:
        backslash_commands(out, freshet, folder)
        round_trips(out, freshet, arguments.quick)
    return out.finish()
