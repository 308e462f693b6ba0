# SPDX-License-Identifier: Apache-2.0
"""Parses one sqllogictest file and runs its records against a server."""
import math
import re

import wire

LETTERS = {16: "B", 17: "Y", 20: "I", 21: "I", 23: "I", 25: "T", 18: "T", 19: "T", 1042: "T", 1043: "T", 700: "F",
           701: "F", 1700: "N", 1082: "D", 1083: "M", 1114: "S", 1184: "Z", 1186: "V", 2950: "U", 705: "T"}


class Record:
    """One record and where it stands, so that its result can be written again."""

    def __init__(self, line):
        self.line = line
        self.kind = None  # statement, query, copy
        self.words = []
        self.sql = ""
        self.expected = None
        self.data = b""
        self.only = None
        self.no_views = False
        self.connection = None
        self.body = (0, 0)  # the expected lines, as a range of line indices


def parse(lines):
    records, i = [], 0
    only, no_views, connection = None, False, None
    while i < len(lines):
        words = lines[i].split()
        if not words or words[0].startswith("#"):
            i += 1
            continue
        if words[0] == "onlyif":
            only = words[1]
        elif words[0] == "noviews":
            no_views = True
        elif words[0] == "connection":
            connection = words[1]
        elif words[0] == "skipviews":
            pass  # a word to `Execution.run`: this file looks at the catalog
        elif words[0] in ("statement", "query", "copy"):
            record = Record(i + 1)
            record.kind, record.words = words[0], words[1:]
            record.only, record.no_views, record.connection = only, no_views, connection
            only, no_views, connection = None, False, None
            i = parse_body(lines, i + 1, record)
            records.append(record)
            continue
        else:
            raise ValueError(f"line {i + 1}: {lines[i]}")
        i += 1
    return records


def parse_body(lines, i, record):
    """The SQL up to ---- or an empty line, then the expected rows (or the data of a COPY) up to an empty line."""
    start = i
    while i < len(lines) and lines[i] != "----" and lines[i] != "":
        i += 1
    record.sql = "\n".join(lines[start:i])
    record.body = (i, i)
    if i < len(lines) and lines[i] == "----":
        body = i = i + 1
        while i < len(lines) and lines[i] != "":
            i += 1
        record.body = (body, i)
        if record.kind == "copy":
            record.data = "".join(line + "\n" for line in lines[body:i]).encode()
        else:
            record.expected = lines[body:i]
    return i


def shown(value):
    if value is None:
        return "NULL"
    if value == "":
        return "(empty)"
    return value.replace("\\", "\\\\").replace("\n", "\\n") if "\n" in value else value


class Execution:
    def __init__(self, path, port, arguments, server, database):
        self.path, self.port, self.arguments, self.server = path, port, arguments, server
        self.database = database
        self.engine = "postgres" if arguments.postgres else "freshet"
        self.connections = {}
        self.failures, self.passed, self.skipped, self.as_views = [], 0, 0, 0
        self.views = {}  # record: view made before the data
        self.rewritten = {}
        self.lost = False

    # ---- The file.

    def run(self):
        with open(self.path) as f:
            lines = f.read().split("\n")
        self.records = parse(lines)
        if self.arguments.views and "skipviews" in lines:
            self.skipped = len(self.records)
            return
        user = "postgres" if self.engine == "postgres" else "materialize"
        self.user = user
        try:
            admin = wire.Wire(self.port, user, user)
            answer = admin.query(f"CREATE DATABASE {self.database}")
            admin.close()
            if answer.error:
                self.failures.append(f"CREATE DATABASE: {answer.error}")
                return
            for number, record in enumerate(self.records):
                if record.only not in (None, self.engine):
                    self.skipped += 1
                    continue
                if self.arguments.restart and number % 10 == 9 and all(c.idle and not c.pinned for c in self.connections.values()):
                    self.restart()
                self.run_record(record)
            for connection in self.connections.values():
                connection.close()
        except wire.Gone as error:
            self.lost = True
            self.failures.append(f"{self.path}: the connection was lost: {error}")
        if self.arguments.rewrite:
            self.write(lines)

    def restart(self):
        for connection in self.connections.values():
            connection.close()
        self.connections = {}
        self.server.kill()
        self.server.start()
        self.port = self.server.port

    def connection(self, name):
        name = name or "default"
        if name not in self.connections:
            self.connections[name] = wire.Wire(self.port, self.user, self.database)
            self.connections[name].idle = True
            self.connections[name].pinned = False
        return self.connections[name]

    def fail(self, record, what):
        self.failures.append(f"{self.path}:{record.line}: {what}\n    {record.sql[:400]}")

    def run_record(self, record):
        connection = self.connection(record.connection)
        try:
            if record.kind == "query":
                self.run_query(connection, record)
            else:
                self.run_statement(connection, record)
        except wire.Gone as error:
            self.lost = True
            self.fail(record, f"the connection was lost: {error}")
            self.connections.pop(record.connection or "default", None)
            if self.server is not None and not self.server.alive():
                raise

    def ask(self, connection, sql, data=None):
        answer = connection.query(sql, data)
        connection.idle = answer.status == "I"
        # Prepared statements and settings die with their session: no restart until they are let go.
        if re.match(r"\s*(prepare|set)\b", sql, re.I):
            connection.pinned = True
        elif re.match(r"\s*deallocate all", sql, re.I):
            connection.pinned = False
        return answer

    # ---- statement ok | error SQLSTATE, copy ok | error SQLSTATE

    def run_statement(self, connection, record):
        if re.match(r"\s*drop\b", record.sql, re.I):
            self.drop_views(connection)
        answer = self.ask(connection, record.sql, record.data if record.kind == "copy" else None)
        if record.words[0] == "ok":
            tag = " ".join(record.words[1:])
            if answer.error:
                return self.fail(record, f"error {answer.error.get('C')}: {answer.error.get('M')}")
            if tag and (not answer.tags or answer.tags[-1] != tag):
                if self.arguments.rewrite and answer.tags and self.mine(record):
                    self.rewritten[record] = ("head", f"{record.kind} ok {answer.tags[-1]}")
                else:
                    return self.fail(record, f"expected tag {tag}, came {answer.tags}")
            self.passed += 1
            if self.arguments.views == "before" and re.match(r"\s*create\s+(table|view|temp)", record.sql, re.I):
                self.make_views(connection)
            return None
        return self.expect_error(record, answer)

    def expect_error(self, record, answer):
        state = record.words[1] if len(record.words) > 1 else None
        if answer.error is None:
            return self.fail(record, f"expected error {state}, came {answer.tags or answer.rows[:3]}")
        if answer.error.get("C") != state:
            if self.arguments.rewrite and self.mine(record):
                self.rewritten[record] = ("head", f"{record.kind} error {answer.error.get('C')}")
            else:
                return self.fail(record, f"expected error {state}, came {answer.error.get('C')}: {answer.error.get('M')}")
        self.passed += 1
        return None

    # ---- query TYPES [rowsort] [skip=N], query error SQLSTATE

    def run_query(self, connection, record):
        if record.words[0] == "error":
            return self.expect_error(record, self.ask(connection, record.sql))
        if self.arguments.views and self.can_be_view(record) and connection.idle:
            answer = self.ask_view(connection, record)
        else:
            answer = self.ask(connection, record.sql)
        if answer is None:
            return None
        if answer.error:
            return self.fail(record, f"error {answer.error.get('C')}: {answer.error.get('M')}")
        skip = next((int(word[5:]) for word in record.words if word.startswith("skip=")), 0)
        types = "".join(LETTERS.get(oid, "A") for _, oid in answer.columns)[skip:]
        rows = [[shown(value) for value in row[skip:]] for row in answer.rows]
        if answer.copied:
            types, rows = "T", [[line] for line in answer.copied.decode().rstrip("\n").split("\n")]
        actual = ["|".join(row) for row in rows]
        sort = "rowsort" in record.words
        if sort:
            actual.sort()
        if self.arguments.rewrite and self.mine(record):
            self.rewritten[record] = ("query", types, actual)
            self.passed += 1
            return None
        if types != record.words[0]:
            return self.fail(record, f"expected types {record.words[0]}, came {types}")
        expected = record.expected or []
        if self.arguments.views and self.can_be_view(record) and not sort:
            expected, actual = sorted(expected), sorted(actual)
        if not self.equal(expected, actual, types):
            return self.fail(record, "expected\n      " + "\n      ".join(expected[:12]) + "\n    came\n      " +
                             "\n      ".join(actual[:12]))
        self.passed += 1
        return None

    def mine(self, record):
        """Results are PostgreSQL's, unless only Freshet runs the record."""
        return self.engine == "postgres" or record.only == "freshet"

    @staticmethod
    def equal(expected, actual, types):
        if expected == actual:
            return True
        if len(expected) != len(actual) or "F" not in types:
            return False
        for left, right in zip(expected, actual):
            left, right = left.split("|"), right.split("|")
            if len(left) != len(right):
                return False
            for l, r, t in zip(left, right, types):
                if l != r and not (t == "F" and close(l, r)):
                    return False
        return True

    # ---- Queries as views.

    def can_be_view(self, record):
        return (record.kind == "query" and record.words[0] != "error" and not record.no_views and
                record.only in (None, "freshet") and re.match(r"\s*(select|with|values|table)\b", record.sql, re.I) and
                not re.search(r"\b(limit|offset|fetch|mz_now|current_\w+|now|version|as of|pg_\w+|mz_\w+)\b", record.sql, re.I))

    def make_view(self, connection, record):
        """Makes the view of a query; None when the query cannot be one as it stands."""
        name = f"slt_view_{record.line}"
        sql = record.sql.rstrip().rstrip(";")
        columns = ", ".join(f"c{i + 1}" for i in range(len(record.words[0])))
        if self.ask(connection, f"CREATE VIEW {name} ({columns}) AS {sql}").error:
            return None
        if self.ask(connection, f"CREATE INDEX ON {name} (c1)").error:
            self.ask(connection, f"DROP VIEW {name}")
            return None
        return name

    def make_views(self, connection):
        for record in self.records:
            if self.can_be_view(record) and record not in self.views and not record.connection:
                name = self.make_view(connection, record)
                if name:
                    self.views[record] = name

    def drop_views(self, connection):
        for name in self.views.values():
            self.ask(connection, f"DROP VIEW {name} CASCADE")
        self.views = {}

    def ask_view(self, connection, record):
        name = self.views.get(record)
        made = name is None
        if made:
            name = self.make_view(connection, record)
        if name is None:
            return self.ask(connection, record.sql)
        self.as_views += 1
        answer = self.ask(connection, f"SELECT * FROM {name}")
        if made:
            self.ask(connection, f"DROP VIEW {name} CASCADE")
        return answer

    # ---- Writing results.

    def write(self, lines):
        for record in reversed(self.records):
            change = self.rewritten.get(record)
            if change is None:
                continue
            if change[0] == "head":
                lines[record.line - 1] = change[1]
                continue
            _, types, rows = change
            start, end = record.body
            lines[start:end] = (["----"] if record.expected is None else []) + rows
            lines[record.line - 1] = " ".join(["query", types or "T", *record.words[1:]])
        with open(self.path, "w") as f:
            f.write("\n".join(lines))


def close(left, right):
    try:
        left, right = float(left), float(right)
    except ValueError:
        return False
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return left == right or abs(left - right) <= 1e-9 * max(abs(left), abs(right))
