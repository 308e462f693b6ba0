# SPDX-License-Identifier: Apache-2.0
"""Every bad input has its SQLSTATE and message, and the server goes on with nothing lost."""
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

import report
import servers
import wire

# Statements that PostgreSQL refuses too: same SQLSTATE and same message.
SAME_AS_POSTGRES = [
    "SELEC 1", "SELECT 1 +", "SELECT (1", "SELECT 'open", "SELECT FROM WHERE", "CREATE TABLE", "INSERT INTO kept",
    "SELECT * FROM nosuch", "SELECT nosuch FROM kept", "SELECT kept.nosuch FROM kept", "SELECT nosuch(1)",
    "SELECT upper(1)", "SELECT id + name FROM kept", "SELECT * FROM kept WHERE id", "SELECT * FROM kept WHERE id = 'abc'",
    "SELECT id FROM kept GROUP BY name", "SELECT sum(sum(id)) FROM kept", "SELECT * FROM kept ORDER BY 9",
    "SELECT (SELECT id FROM kept)", "SELECT 1 UNION SELECT 'x'", "SELECT 1 UNION SELECT 1, 2", "VALUES (1), (1, 2)",
    "INSERT INTO kept VALUES ('x', 'y')", "INSERT INTO kept VALUES (1, 'y', 3)", "INSERT INTO kept (nosuch) VALUES (1)",
    "INSERT INTO nosuch VALUES (1)", "UPDATE kept SET nosuch = 1", "DELETE FROM nosuch", "CREATE TABLE kept (a int)",
    "DROP TABLE nosuch", "DROP VIEW kept", "CREATE VIEW v AS SELECT nosuch FROM kept", "CREATE TABLE u (a nosuchtype)",
    "SELECT 1 / 0", "SELECT 1 % 0", "SELECT 1.0 / 0", "SELECT 2147483647 + 1", "SELECT 9223372036854775807 + 1",
    "SELECT 32768::smallint", "SELECT abs((-2147483648)::int)", "SELECT 1e308::float8 * 10", "SELECT 'abc'::int",
    "SELECT '99999999999'::int", "SELECT '2021-02-30'::date", "SELECT 'x'::boolean", "SELECT 'zz'::uuid",
    "SELECT 1000::numeric(3,0)", "SELECT sqrt(-1)", "SELECT ln(0)", "SELECT 'a' ~ '('", "SELECT substring('x' FROM 1 FOR -1)",
    "SELECT CASE WHEN 1 THEN 2 END", "SELECT 1 IN (1, 'x')", "SELECT * FROM kept k, kept k", "SELECT id FROM kept a, kept b",
    "EXECUTE nosuch", "FETCH 1 FROM nosuch", "DEALLOCATE nosuch", "SET nosuch_variable = 1", "SELECT $1",
    "SELECT * FROM kept LIMIT -1", "SELECT DISTINCT id FROM kept ORDER BY name", "SELECT id FROM kept HAVING id > 1",
    "SELECT date '2020-01-01' + date '2020-01-01'", "SELECT ARRAY[1, 'x']", "SELECT * FROM (SELECT 1) AS s WHERE nope",
    "COPY nosuch FROM STDIN", "COPY kept (nosuch) FROM STDIN",
]


class Case:
    """The server under test, with a table whose content every case must leave alone."""

    def __init__(self, out, freshet):
        self.out, self.freshet = out, freshet
        self.wire = wire.Wire(freshet.port)

    def query(self, sql, data=None):
        return self.wire.query(sql, data)

    def ok(self, sql, data=None):
        answer = self.query(sql, data)
        if answer.error:
            self.out.fail(f"{sql}: {answer.error.get('C')} {answer.error.get('M')}")
        return answer.rows

    def fails(self, sql, state, message=None, data=None):
        answer = self.query(sql, data)
        got = answer.error or {}
        if got.get("C") != state or (message and message not in got.get("M", "") + got.get("W", "")):
            self.out.fail(f"{sql}: expected {state} {message or ''}, came {got.get('C')} {got.get('M', answer.rows[:3])}")
            return False
        return True

    def equals(self, sql, rows):
        answer = self.query(sql)
        if answer.error or answer.rows != rows:
            self.out.fail(f"{sql}: expected {rows}, came {answer.error or answer.rows[:5]}")
            return False
        return True

    def goes_on(self, what):
        """A new session can be opened and sees what was kept."""
        try:
            fresh = wire.Wire(self.freshet.port, timeout=20)
            answer = fresh.query("SELECT count(*), sum(id), min(name) FROM kept")
            good = answer.rows == [["1000", "500500", "name 1"]]
            fresh.close()
            self.out.check(good, f"{what}: the server goes on with nothing lost", answer.error or answer.rows)
        except (wire.Gone, OSError) as error:
            self.out.fail(f"{what}: the server is gone or silent: {error}\n{self.freshet.log_tail()}")
            if not self.freshet.alive():
                self.freshet.start()
            self.wire = wire.Wire(self.freshet.port)


def main(argv):
    parser = report.options("bad-input", __doc__)
    parser.add_argument("--only", help="one case by name")
    arguments = parser.parse_args(argv)
    out = report.Report("bad-input")
    with report.Folder(arguments, out) as folder:
        freshet = servers.Freshet(folder, arguments)
        try:
            freshet.run("CREATE TABLE kept (id int, name text)")
            freshet.run("INSERT INTO kept SELECT g, 'name ' || g FROM generate_series(1, 1000) AS g")
            case = Case(out, freshet)
            for step in (refused_statements, bad_rows, overflow, bad_csv, copy_escapes, times, dropped_in_a_batch, refused_views,
                         protocol_garbage, clients_gone,
                         many_connections, definitions_at_once, second_server, flipped_bit, lost_files, full_disk):
                if arguments.only in (None, step.__name__):
                    before = len(out.failures)
                    try:
                        step(case, folder, arguments)
                    except (wire.Gone, OSError) as error:
                        out.fail(f"{step.__name__}: {type(error).__name__} {error}")
                    case.goes_on(step.__name__.replace("_", " "))
                    if len(out.failures) > before:
                        out.say(f"{step.__name__}: {len(out.failures) - before} failures")
            freshet.kill()
            freshet.start()
            case.wire = wire.Wire(freshet.port)
            case.goes_on("kill and restart at the end")
        finally:
            freshet.kill()
    return out.finish()


def refused_statements(case, folder, arguments):
    with servers.Postgres(folder) as postgres:
        postgres.run("CREATE TABLE kept (id int, name text)")
        postgres.run("INSERT INTO kept SELECT g, 'name ' || g FROM generate_series(1, 1000) AS g")
        judge = wire.Wire(postgres.port, "postgres", "postgres")
        good = 0
        for sql in SAME_AS_POSTGRES:
            expected, came = judge.query(sql).error, case.query(sql).error or {}
            if expected is None:
                case.out.fail(f"PostgreSQL accepts {sql}")
            elif (came.get("C"), came.get("M")) == (expected["C"], expected["M"]):
                good += 1
            else:
                case.out.fail(f"{sql}: expected {expected['C']} {expected['M']}; came {came.get('C')} {came.get('M')}")
        case.out.figure("refused statements with PostgreSQL's SQLSTATE and message", good, f"of {len(SAME_AS_POSTGRES)}")


def bad_rows(case, folder, arguments):
    """A division by zero in row (2, 0): reads fail only where that row is in scope, and heal."""
    zero = ("22012", "division by zero")
    case.ok("CREATE TABLE bad (k int, g int, a int, b int)")
    case.ok("CREATE TABLE other (k int, v text)")
    case.ok("INSERT INTO bad VALUES (1, 1, 10, 2), (2, 1, 20, 0), (3, 2, 30, 5)")
    case.ok("INSERT INTO other VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four')")
    views = {
        "bad_keyed": "SELECT k, a / b AS q FROM bad",
        "bad_projected": "SELECT a / b AS q FROM bad",
        "bad_join": "SELECT bad.k, v, a / b AS q FROM bad JOIN other ON bad.k = other.k",
        "bad_groups": "SELECT g, sum(a / b) AS s FROM bad GROUP BY g",
        "bad_anti": "SELECT k, v FROM other WHERE NOT EXISTS (SELECT 1 FROM bad WHERE bad.k = other.k AND a / b > 0)",
        "bad_anti_unknown": "SELECT k, v FROM other WHERE NOT EXISTS (SELECT 1 FROM bad WHERE a / b = other.k)",
    }
    for kind in ("indexed", "materialized"):
        for name, sql in views.items():
            column = {"bad_projected": "q", "bad_groups": "g"}.get(name, "k")
            case.ok(f"CREATE {'VIEW' if kind == 'indexed' else 'MATERIALIZED VIEW'} {name} AS {sql}")
            if kind == "indexed":
                case.ok(f"CREATE INDEX {name}_i ON {name} ({column})")
        case.ok("CREATE VIEW bad_over AS SELECT k, q + 1 AS q1 FROM bad_keyed")
        case.fails("SELECT * FROM bad_keyed", *zero)
        case.equals("SELECT q FROM bad_keyed WHERE k = 1", [["5"]])
        case.equals("SELECT q FROM bad_keyed WHERE k = 77", [])
        case.fails("SELECT q FROM bad_keyed WHERE k = 2", *zero)
        case.fails("SELECT q FROM bad_projected", *zero)
        case.fails("SELECT q FROM bad_projected WHERE q = 5", *zero)
        case.equals("SELECT v, q FROM bad_join WHERE k = 3", [["three", "6"]])
        case.fails("SELECT v, q FROM bad_join WHERE k = 2", *zero)
        case.fails("SELECT count(*) FROM bad_join", *zero)
        case.equals("SELECT s FROM bad_groups WHERE g = 2", [["6"]])
        case.fails("SELECT s FROM bad_groups WHERE g = 1", *zero)
        case.equals("SELECT v FROM bad_anti WHERE k = 4", [["four"]])
        case.equals("SELECT v FROM bad_anti WHERE k = 1", [])
        case.fails("SELECT v FROM bad_anti WHERE k = 2", *zero)
        case.fails("SELECT v FROM bad_anti_unknown", *zero)
        case.fails("SELECT v FROM bad_anti_unknown WHERE k = 4", *zero)
        case.equals("SELECT q1 FROM bad_over WHERE k = 3", [["7"]])
        case.fails("SELECT q1 FROM bad_over WHERE k = 2", *zero)
        case.fails("SELECT sum(q1) FROM bad_over", *zero)
        case.ok("UPDATE bad SET b = 4 WHERE k = 2")
        case.equals("SELECT * FROM bad_keyed ORDER BY k", [["1", "5"], ["2", "5"], ["3", "6"]])
        case.equals("SELECT q FROM bad_projected ORDER BY q", [["5"], ["5"], ["6"]])
        case.equals("SELECT count(*) FROM bad_join", [["3"]])
        case.equals("SELECT * FROM bad_groups ORDER BY g", [["1", "10"], ["2", "6"]])
        case.equals("SELECT k, v FROM bad_anti", [["4", "four"]])
        case.equals("SELECT k FROM bad_anti_unknown ORDER BY k", [["1"], ["2"], ["3"], ["4"]])
        case.equals("SELECT sum(q1) FROM bad_over", [["19"]])
        case.ok("UPDATE bad SET b = 0 WHERE k = 2")
        case.fails("SELECT q FROM bad_keyed WHERE k = 2", *zero)
        case.ok("DELETE FROM bad WHERE k = 2")
        case.equals("SELECT count(*) FROM bad_keyed", [["2"]])
        case.ok("INSERT INTO bad VALUES (2, 1, 20, 0)")
        case.ok("DROP VIEW bad_over")
        for name in views:
            case.ok(f"DROP {'VIEW' if kind == 'indexed' else 'MATERIALIZED VIEW'} {name}")


def overflow(case, folder, arguments):
    case.ok("CREATE TABLE large (k int, i int, b bigint, n numeric(5,2))")
    case.ok("INSERT INTO large VALUES (1, 2147483647, 9223372036854775807, 999.99), (2, 1, 1, 1)")
    case.ok("CREATE VIEW sums AS SELECT k, i + 1 AS i1, b + 1 AS b1 FROM large")
    case.ok("CREATE INDEX sums_k ON sums (k)")
    case.fails("SELECT * FROM sums WHERE k = 1", "22003", "out of range")
    case.equals("SELECT i1, b1 FROM sums WHERE k = 2", [["2", "2"]])
    case.equals("SELECT sum(b) FROM large", [["9223372036854775808"]])
    case.fails("SELECT sum(i * 2) FROM large", "22003", "integer out of range")
    case.fails("INSERT INTO large (n) VALUES (1000)", "22003", "numeric field overflow")
    case.fails("UPDATE large SET i = i + 1", "22003", "integer out of range")
    case.equals("SELECT sum(i) FROM large", [["2147483648"]])


def bad_csv(case, folder, arguments):
    case.ok("CREATE TABLE csv (a int, b text, c numeric)")
    good = b"".join(b"%d,x,1.5\n" % i for i in range(5000))
    for what, bad, state in (("a text for a number", b"nonsense,x,1\n", "22P02"), ("too few columns", b"1,x\n", "22P04"),
                             ("too many columns", b"1,x,1,1\n", "22P04"), ("an open quote", b'1,"x,1\n', "22P04"),
                             ("bytes that are not UTF-8", b"1,\xff\xfe,1\n", "22021")):
        answer = case.query("COPY csv FROM STDIN CSV", good + bad + (b"" if bad.startswith(b'1,"') else good))
        error = answer.error or {}
        case.out.check(error.get("C") == state and "line 5001" in str(error),
                       f"COPY with {what}: {state} that names line 5001", error)
        case.equals("SELECT count(*) FROM csv", [["0"]])
    case.ok("COPY csv FROM STDIN CSV", good)
    case.equals("SELECT count(*) FROM csv", [["5000"]])


def copy_escapes(case, folder, arguments):
    """Escapes of COPY: none may make text that is no text, and none depends on how the data is cut into messages."""
    case.ok("CREATE TABLE escapes (a text, b int)")
    for bad in (rb"\x00", rb"\000", rb"\xff", rb"\303"):
        case.fails("COPY escapes FROM STDIN", "22021", data=b"good\t1\nx" + bad + b"y\t2\n")
    case.equals("SELECT count(*) FROM escapes", [["0"]])
    for sql, data, rows in (
            ("COPY escapes FROM STDIN (FORMAT csv, ESCAPE E'\\\\')", b'"x\\"y",1\n"z\\\\",2\n', [['x"y', "1"], ["z\\", "2"]]),
            ("COPY escapes FROM STDIN CSV", b'"x""y\nz",1\nplain,2\n', [['x"y\nz', "1"], ["plain", "2"]]),
            ("COPY escapes FROM STDIN", rb"x\ty\101" + b"\t1\nz\t2\n", [["x\tyA", "1"], ["z", "2"]])):
        for cut in range(len(data) + 1):
            case.ok(sql, [data[:cut], data[cut:]])
            if not case.equals("SELECT a, b FROM escapes ORDER BY b", rows):
                case.out.fail(f"{sql} cut at byte {cut}")
                break
            case.ok("DELETE FROM escapes")
    case.out.say("ok: COPY escapes, cut at every byte")


def times(case, folder, arguments):
    """Times that cannot be read, now or ever, fail or wait, and promise nothing to anyone else."""
    case.fails("SELECT * FROM kept AS OF 1e18", "22023", "invalid timestamp")
    case.fails("SELECT * FROM kept AS OF 18446744073709552", "22023")
    case.fails("SELECT * FROM kept AS OF 'infinity'::timestamptz", "22023")
    case.fails("SELECT * FROM kept AS OF -1", "22023")
    case.fails("SELECT * FROM kept AS OF 1", "22023", "not readable")
    case.ok("SET statement_timeout = '300ms'")
    for sql in ("SELECT * FROM kept AS OF 4000000000000", "COPY (SUBSCRIBE kept AS OF 4000000000000) TO STDOUT"):
        case.fails(sql, "57014", "statement timeout")
    case.ok("SET statement_timeout = 0")
    case.ok("CREATE TABLE later (a int)")
    case.ok("INSERT INTO later VALUES (1)")
    case.equals("SELECT count(*) FROM later", [["1"]])
    soon = time.time() + 0.5
    case.equals(f"SELECT count(*) FROM later AS OF {soon * 1000:.0f}", [["1"]])
    case.out.check(time.time() >= soon, "a read AS OF a time to come waits for it")
    case.fails("SET timezone = 'Nowhere/Land'", "22023", "Nowhere/Land")
    case.fails("SET statement_timeout = '1000000d'", "22023")
    # A row may stand for more copies than memory holds.
    case.ok("CREATE TABLE copies (a int)")
    case.ok("INSERT INTO copies SELECT 1 FROM generate_series(1, 10000)")
    case.fails("SELECT x.a FROM copies x, copies y, copies z", "54000", "the result exceeds")


def dropped_in_a_batch(case, folder, arguments):
    """A write to a table that is gone fails alone; those that were committed with it do not."""
    other = wire.Wire(case.freshet.port)
    case.ok("CREATE TABLE stays (a int)")
    innocent = wire.Wire(case.freshet.port)
    for _ in range(20):
        case.ok("CREATE TABLE goes (a int)")
        other.query("BEGIN")
        other.query("INSERT INTO goes VALUES (1)")
        case.ok("DROP TABLE goes")
        other.send(b"Q", b"COMMIT\0")
        innocent.send(b"Q", b"INSERT INTO stays VALUES (1)\0")
        error, came = other.answer().error or {}, innocent.answer()
        if error.get("C") != "42P01" or came.error:
            case.out.fail(f"a write to a dropped table: {error}; a write beside it: {came.error}")
    case.equals("SELECT count(*) FROM stays", [["20"]])
    other.close()
    innocent.close()


def refused_views(case, folder, arguments):
    """What cannot be kept up to date leaves nothing behind, and a subscription ends with what it reads."""
    case.ok("CREATE TABLE base (a int, n numeric)")
    case.ok("CREATE VIEW timed AS SELECT a, mz_now() t FROM base")
    for sql in ("CREATE MATERIALIZED VIEW refused AS SELECT a, mz_now() t FROM base",
                "CREATE MATERIALIZED VIEW refused AS SELECT a FROM base WHERE mz_now() <> n",
                "CREATE MATERIALIZED VIEW refused AS SELECT max(mz_now()) FROM base", "CREATE INDEX refused ON timed (a)"):
        case.fails(sql, "0A000")
        case.equals("SELECT count(*) FROM pg_class WHERE relname = 'refused'", [["0"]])
    for kind in ("", "INDEX"):
        case.ok("CREATE VIEW seen AS SELECT a, count(*) c FROM base GROUP BY a")
        if kind:
            case.ok("CREATE INDEX seen_idx ON seen (a)")
        reader = wire.Wire(case.freshet.port, timeout=10)
        reader.send(b"Q", b"COPY (SUBSCRIBE seen WITH (PROGRESS)) TO STDOUT\0")
        while reader.receive()[0] != b"d":
            pass
        case.ok("DROP VIEW seen CASCADE")
        error = reader.answer().error or {}
        case.out.check(error.get("C") == "42P01", f"a subscription {'through an index ' if kind else ''}ends with its view", error)
        reader.close()
    case.freshet.kill()
    case.freshet.start()
    case.wire = wire.Wire(case.freshet.port)


def protocol_garbage(case, folder, arguments):
    port = case.freshet.port
    chance = random.Random(arguments.seed)
    pieces = [b"", b"\0", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", struct.pack("!i", 0), struct.pack("!i", -1),
              struct.pack("!ii", 8, 0), struct.pack("!ii", 0x7FFFFFFF, 196608), struct.pack("!ii", 9, 196608) + b"\0",
              struct.pack("!ii", 8, 2 << 16), struct.pack("!ii", 8, 196608), struct.pack("!ii", 12, 196608) + b"user",
              bytes(chance.randrange(256) for _ in range(4096))]
    for garbage in pieces:
        raw = wire.Wire(port, startup=False, timeout=5)
        raw.send_raw(garbage)
        raw.socket.shutdown(socket.SHUT_WR)
        try:
            while raw.socket.recv(4096):
                pass
        except OSError:
            pass
        raw.close(politely=False)
    case.goes_on("garbage instead of a startup message")
    try:
        wire.Wire(port, startup=False).startup(database="materialize")
        case.out.fail("a startup message without a user is let in")
    except wire.Gone as error:
        case.out.check("28000" in str(error), "a startup message without a user is refused", error)
    for what, message, state in (
            ("a message of unknown type", b"\x01" + struct.pack("!i", 4), "08P01"),
            ("a length of zero", b"Q" + struct.pack("!i", 0), "08P01"),
            ("a negative length", b"Q" + struct.pack("!i", -5), "08P01"),
            ("a length of 2 GB", b"Q" + struct.pack("!i", 0x7FFFFFFF), "08P01"),
            ("a Bind that is cut", b"B" + struct.pack("!i", 6) + b"\0\0", "08P01"),
            ("a Bind with a count past its end", b"B" + struct.pack("!i", 12) + b"\0\0" + struct.pack("!hhh", 0, 9999, 0), "08P01"),
            ("a Parse without its end", b"P" + struct.pack("!i", 8) + b"abcd", "08P01"),
            ("a query that is not UTF-8", b"Q" + struct.pack("!i", 16) + b"SELECT '\xff\xfe'\0", "22021"),
            ("a Bind to no statement", b"B" + struct.pack("!i", 15) + b"\0none\0" + struct.pack("!hhh", 0, 0, 0)[:5], "08P01")):
        raw = wire.Wire(port, timeout=5)
        try:
            raw.send_raw(message)
            raw.send(b"S")
            kind, body = raw.receive()
            error = wire.fields(body) if kind == b"E" else {}
            case.out.check(error.get("C") == state, f"{what}: {state}", (kind, error))
        except wire.Gone as gone:
            case.out.fail(f"{what}: {gone} without an error message")
        raw.close(politely=False)
    for _ in range(200 if arguments.quick else 2000):
        try:
            raw = wire.Wire(port, timeout=5)
            for _ in range(chance.randrange(1, 5)):
                kind = chance.choice(b"QPBEDSCHFdcfXpR\x00\xff")
                body = bytes(chance.randrange(256) for _ in range(chance.randrange(0, 60)))
                raw.send(bytes([kind]), body if chance.random() < 0.8 else body[:-1])
            raw.socket.settimeout(0.01)
            try:
                raw.socket.recv(4096)
            except OSError:
                pass
            raw.close(politely=False)
        except (wire.Gone, OSError):
            if not case.freshet.alive():
                break
    case.goes_on("random messages")
    extended(case)


def extended(case):
    """Misuse of the extended protocol: an error skips to Sync, and the session goes on."""
    raw = wire.Wire(case.freshet.port)
    raw.parse("s", "SELECT id FROM kept WHERE id = $1")
    raw.sync()
    case.out.check(raw.answer().error is None, "Parse")
    for what, send, state in (
            ("a second statement of that name", lambda: raw.parse("s", "SELECT 1"), "42P05"),
            ("a portal that does not exist", lambda: raw.execute("nope"), "34000"),
            ("a statement that does not exist", lambda: raw.bind("", "nope"), "26000"),
            ("two statements in one Parse", lambda: raw.parse("", "SELECT 1; SELECT 2"), "42601"),
            ("too few parameters", lambda: raw.bind("", "s"), "08P01"),
            ("a parameter that does not parse", lambda: raw.bind("", "s", ["abc"]), "22P02"),
            ("a binary parameter of the wrong size", lambda: raw.bind("", "s", [b"\0\1"], formats=[1]), "08P01"),
            ("a format code of 7", lambda: raw.bind("", "s", ["1"], formats=[7]), "22023")):
        send()
        raw.execute()
        raw.sync()
        error = raw.answer().error or {}
        case.out.check(error.get("C") == state, f"{what}: {state}", error)
    raw.bind("", "s", ["7"])
    raw.execute()
    raw.sync()
    case.out.check(raw.answer().rows == [["7"]], "the session still answers")
    # A portal that has ended gives no more rows, and does nothing twice.
    raw.query("CREATE TABLE once (a int)")
    for sql, tags, state in (("INSERT INTO once VALUES (1)", ["INSERT 0 1"], "55000"),
                             ("INSERT INTO once VALUES (1) RETURNING a", ["INSERT 0 1", "INSERT 0 0"], None),
                             ("SELECT id FROM kept WHERE id < 3", ["SELECT 2", "SELECT 0"], None)):
        raw.parse("", sql)
        raw.bind("", "")
        raw.execute()
        raw.execute()
        raw.sync()
        answer = raw.answer()
        came = (answer.tags, (answer.error or {}).get("C"))
        case.out.check(came == (tags, state), f"{sql}, executed twice: {tags} {state or ''}", came)
    rows = raw.query("SELECT count(*) FROM once").rows
    case.out.check(rows == [["1"]], "a statement that failed with its portal is undone", rows)
    # A cursor is a portal: Execute and FETCH go on from one another.
    raw.query("BEGIN")
    raw.query("DECLARE c CURSOR FOR SELECT id FROM kept WHERE id <= 5 ORDER BY id")
    seen = []
    for most in (1, 2):
        raw.execute("c", most)
        raw.sync()
        seen += raw.answer().rows
        seen += raw.query("FETCH 1 FROM c").rows
    raw.execute("c")
    raw.sync()
    raw.answer()
    case.out.check(raw.query("FETCH 1 FROM c").error is None, "FETCH after Execute of the cursor's portal", seen)
    case.out.check(seen == [["1"], ["2"], ["3"], ["4"], ["5"]], "Execute and FETCH share one place in a cursor", seen)
    raw.query("COMMIT")
    raw.close()


def clients_gone(case, folder, arguments):
    port = case.freshet.port
    case.ok("CREATE TABLE half (a int, b text)")
    for rude in (False, True):
        raw = wire.Wire(port)
        raw.send(b"Q", b"COPY half FROM STDIN\0")
        raw.receive()
        for i in range(1000):
            raw.send(b"d", b"%d\tx\n" % i)
        if rude:
            raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close(politely=False)
    for _ in range(20):
        raw = wire.Wire(port)
        raw.send(b"Q", b"COPY (SUBSCRIBE half) TO STDOUT\0")
        raw.receive()
        raw.close(politely=False)
    for _ in range(20):
        raw = wire.Wire(port)
        raw.send(b"Q", b"SELECT * FROM kept a, kept b WHERE a.id <= 100\0")
        raw.receive()
        raw.close(politely=False)
    for _ in range(5):
        raw = wire.Wire(port)
        raw.send(b"Q", b"COPY (SUBSCRIBE half UP TO %d) TO STDOUT\0" % int((time.time() + 0.5) * 1000))
        raw.receive()
        raw.close(politely=False)
    time.sleep(1)
    case.equals("SELECT count(*) FROM half", [["0"]])
    case.ok("INSERT INTO half VALUES (1, 'x')")
    case.equals("SELECT count(*) FROM half", [["1"]])
    before = case.freshet.cpu_seconds()
    time.sleep(2)
    case.out.figure("CPU in the two seconds after clients vanished", case.freshet.cpu_seconds() - before, "s", at_most=0.5)
    # Cancel: the statement stops with 57014 and the session goes on.
    raw = wire.Wire(port, timeout=20)
    raw.send(b"Q", b"SELECT count(*) FROM kept a, kept b, kept c WHERE a.id + b.id + c.id < 0\0")
    time.sleep(0.3)
    cancel = wire.Wire(port, startup=False)
    cancel.send_raw(struct.pack("!iiii", 16, 80877102, *raw.key))
    cancel.close(politely=False)
    began = time.monotonic()
    error = raw.answer().error or {}
    case.out.check(error.get("C") == "57014", "a cancelled statement answers 57014", error)
    case.out.figure("cancel to answer", time.monotonic() - began, "s", at_most=1)
    case.out.check(raw.query("SELECT 1").rows == [["1"]], "its session goes on")
    before = case.freshet.cpu_seconds()
    time.sleep(2)
    case.out.figure("CPU in the two seconds after the cancel", case.freshet.cpu_seconds() - before, "s", at_most=0.5)
    raw.close()


def many_connections(case, folder, arguments):
    failures = []
    gate = threading.Barrier(200)

    def client(number):
        try:
            gate.wait(30)
            session = wire.Wire(case.freshet.port, timeout=60)
            rows = session.query(f"SELECT id, name FROM kept WHERE id = {number + 1}").rows
            if rows != [[str(number + 1), f"name {number + 1}"]]:
                failures.append(rows)
            gate.wait(60)
            session.close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(200)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    case.out.check(not failures, "200 connections at once, each answered", failures[:3])
    case.out.figure("200 connections, opened, answered and closed", time.monotonic() - began, "s", at_most=30)


def definitions_at_once(case, folder, arguments):
    """Sessions that define and drop the same few objects while others read them: each statement does its work, or
    says that an object is there already, is gone, or is needed by others."""
    expected = {"42P01", "42P07", "2BP01", "3F000", "42704", "42809", "42P06", "42P04"}
    statements = ["CREATE OR REPLACE VIEW dv AS SELECT 1 AS a", "CREATE OR REPLACE VIEW dv AS SELECT a FROM dt",
                  "DROP VIEW IF EXISTS dv", "DROP VIEW dv", "CREATE TABLE dt (a int)", "DROP TABLE IF EXISTS dt CASCADE",
                  "CREATE MATERIALIZED VIEW dm AS SELECT a, count(*) FROM dt GROUP BY a", "CREATE INDEX di ON dt (a)",
                  "DROP INDEX di", "DROP MATERIALIZED VIEW dm", "CREATE SCHEMA ds", "CREATE TABLE ds.t (a int)",
                  "DROP SCHEMA ds", "DROP SCHEMA ds CASCADE", "SELECT * FROM dv", "SELECT * FROM dm", "SELECT a FROM dt WHERE a = 1",
                  "INSERT INTO dt VALUES (1)", "SELECT count(*) FROM ds.t"]
    wrong, served = [], [0]
    until = time.monotonic() + (3 if arguments.quick else 10)

    def client(number):
        chance = random.Random(f"{arguments.seed} {number}")
        try:
            session = wire.Wire(case.freshet.port)
            while time.monotonic() < until:
                sql = chance.choice(statements)
                error = session.query(sql).error
                served[0] += 1
                if error and (error["C"] not in expected or re.search(r"\b[us]\d+\b", error["M"])):
                    wrong.append(f"{sql}: {error['C']} {error['M']}")
        except (wire.Gone, OSError) as error:
            wrong.append(str(error))

    clients = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    case.out.check(not wrong, f"definitions at once: {served[0]} statements, each with a sensible answer", sorted(set(wrong))[:8])
    case.wire = wire.Wire(case.freshet.port)
    case.ok("DROP TABLE IF EXISTS dt CASCADE")
    case.ok("DROP VIEW IF EXISTS dv")
    case.ok("DROP SCHEMA IF EXISTS ds CASCADE")


def second_server(case, folder, arguments):
    done = subprocess.run([case.freshet.binary, "serve", "--data-dir", case.freshet.data, "--listen", "127.0.0.1:0"],
                          capture_output=True, text=True, timeout=30)
    case.out.check(done.returncode not in (0, -6, -11) and "in use" in done.stderr,
                   "a second server on the same directory ends with a message", (done.returncode, done.stderr[-300:]))


def flip(path, position):
    """One bit, there and back."""
    with open(path, "r+b") as f:
        f.seek(position)
        byte = f.read(1)[0]
        f.seek(position)
        f.write(bytes([byte ^ 4]))


def flipped_bit(case, folder, arguments):
    """One bit of a stored part changes: its table says so, naming the part; the others go on."""
    case.ok("CREATE TABLE spoiled (id int, filler text)")
    data = b"".join(b"%d\t%s\n" % (i, os.urandom(50).hex().encode()) for i in range(30000))
    case.ok("COPY spoiled FROM STDIN", data)
    case.equals("SELECT count(*) FROM spoiled", [["30000"]])
    case.freshet.kill()
    files = [os.path.join(path, name) for path, _, names in os.walk(case.freshet.data) for name in names
             if "sqlite" not in name]
    victim = max(files, key=os.path.getsize)
    position = os.path.getsize(victim) // 2
    flip(victim, position)
    case.freshet.start()
    case.wire = wire.Wire(case.freshet.port)
    answer = case.query("SELECT count(*), min(filler) FROM spoiled")
    error = answer.error or {}
    case.out.check(error.get("C") == "XX001", "a flipped bit in a part: its table answers XX001", error or answer.rows)
    name = os.path.basename(victim)
    case.out.check(name in str(error) or name.split(".")[0] in str(error), f"the message names the part {name}", error)
    case.goes_on("a flipped bit")
    case.freshet.kill()
    flip(victim, position)
    case.freshet.start()
    case.wire = wire.Wire(case.freshet.port)
    case.equals("SELECT count(*) FROM spoiled", [["30000"]])


def lost_files(case, folder, arguments):
    """Of the two files of the consensus database one is missing, or the log is damaged: the server says so and does
    not start, and has erased nothing when the file is back."""
    for i in range(30):
        case.ok(f"INSERT INTO kept VALUES ({i - 100}, 'more')")
    case.ok("DELETE FROM kept WHERE id <= 0")
    case.freshet.kill()
    log = os.path.join(case.freshet.data, "consensus.sqlite-wal")
    blob = os.path.join(case.freshet.data, "blob")

    def refused(what):
        parts = sorted(os.listdir(blob))
        done = subprocess.run([case.freshet.binary, "serve", "--data-dir", case.freshet.data, "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=30)
        case.out.check(done.returncode == 1 and sorted(os.listdir(blob)) == parts,
                       f"{what}: the server does not start, and erases nothing", (done.returncode, done.stderr[-300:]))

    for names in (["consensus.sqlite-wal"], ["consensus.sqlite", "consensus.sqlite-wal"]):
        away = [(os.path.join(case.freshet.data, name), os.path.join(folder, name)) for name in names]
        for there, here in away:
            os.rename(there, here)
        refused(" and ".join(names) + " missing")
        for there, here in away:
            os.rename(here, there)
    # The first frame is of the present round of the log, whatever old frames stand at its end.
    for position in (40, 32 + 24 + 1000):
        flip(log, position)
        refused(f"a flipped bit at {position} of the log")
        flip(log, position)
    case.freshet.start()
    case.wire = wire.Wire(case.freshet.port)


def full_disk(case, folder, arguments):
    """A file system of 24 MB fills up: writes fail with 53100, reads go on, and space heals it."""
    mount = os.path.join(folder, "small-disk")
    os.makedirs(mount, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", mount], capture_output=True).returncode != 0:
        case.out.fail("this proof mounts a small tmpfs and needs the right to (root)")
        return
    small = None
    try:
        small = servers.Freshet(folder, arguments, "small", data=os.path.join(mount, "data"))
        session = wire.Wire(small.port, timeout=60)
        session.query("CREATE TABLE t (id int, filler text)")
        session.query("CREATE MATERIALIZED VIEW again AS SELECT filler, id FROM t")
        stored, error = 0, {}
        with open(os.path.join(mount, "ballast"), "wb") as f:
            f.write(b"x" * (6 << 20))
        # Less and less at a time: what the table could still write the view cannot.
        for rows in (500, 100, 20, 4, 1):
            for i in range(400):
                data = b"".join(b"%d\t%s\n" % (i, os.urandom(200).hex().encode()) for _ in range(rows))
                answer = session.query("COPY t FROM STDIN", data)
                if answer.error:
                    error = answer.error
                    break
                stored += rows
        case.out.check(error.get("C") == "53100", "a full disk: the write answers 53100 (disk full)", error)
        case.out.check(small.alive(), "the server lives on a full disk", small.log_tail())
        count = session.query("SELECT count(*) FROM t")
        case.out.check(count.rows == [[str(stored)]], f"reads go on, {stored} rows", count.error or count.rows)
        os.remove(os.path.join(mount, "ballast"))
        answer = session.query("INSERT INTO t VALUES (-1, 'after')")
        case.out.check(answer.error is None, "with space again, writes go on", answer.error)
        count = session.query("SELECT count(*) FROM again")
        case.out.check(count.rows == [[str(stored + 1)]], "and a view that could not write has caught up",
                       count.error or count.rows)
        small.kill()
        small.start()
        session = wire.Wire(small.port, timeout=60)
        count = session.query("SELECT count(*) FROM t")
        case.out.check(count.rows == [[str(stored + 1)]], "after a kill, every acknowledged row is there",
                       (count.error or count.rows, stored + 1))
    finally:
        if small is not None:
            small.kill()
        subprocess.run(["umount", "-l", mount], capture_output=True)
        shutil.rmtree(mount, ignore_errors=True)
