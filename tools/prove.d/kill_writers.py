# SPDX-License-Identifier: Apache-2.0
"""Writers for the kill proof: each keeps a ledger of what was acknowledged and what hung in the air.

A writer runs on a thread of its own until the server dies under it. `verify` then compares what the
restarted server shows with the ledger and settles what had no answer: it must be there as a whole or not at all.
"""
import collections
import io
import random
import threading

import psycopg2
from psycopg2 import errors

RETRIED = (errors.SerializationFailure, errors.DeadlockDetected)
GONE = (psycopg2.OperationalError, psycopg2.InterfaceError)
PAYLOAD = "x" * 100


class Writer:
    """Base: opens a connection, repeats `step`, stops when the server is gone."""

    schema = ""

    def __init__(self, number, seed):
        self.number = number
        self.random = random.Random(seed * 1000 + number)
        self.acknowledged = 0
        self.retried = 0
        self.unexpected = []

    def start(self, freshet):
        self.stopping = False
        self.thread = threading.Thread(target=self.work, args=(freshet,), daemon=True)
        self.thread.start()

    def join(self):
        self.thread.join(30)
        if self.thread.is_alive():
            self.unexpected.append(f"{type(self).__name__} hangs after the server is gone")

    def work(self, freshet):
        try:
            connection = freshet.connect(connect_timeout=5)
            with connection.cursor() as cursor:
                while not self.stopping:
                    try:
                        self.step(cursor)
                        self.acknowledged += 1
                    except RETRIED:
                        self.retried += 1
                        cursor.execute("ROLLBACK")
        except GONE as error:
            # A server that is gone says nothing; one that answers with a code is alive and refuses.
            if getattr(error, "pgcode", None) not in (None, "57P01"):
                self.unexpected.append(f"{type(self).__name__}: {error.pgcode} {str(error).strip()}")
        except psycopg2.Error as error:
            self.unexpected.append(f"{type(self).__name__}: {error.pgcode} {str(error).strip()}")


class Inserter(Writer):
    """Autocommit INSERTs of two rows each; acknowledged ones are there once, halves never."""

    schema = "CREATE TABLE log (writer int, seq int, half int, payload text)"

    def __init__(self, number, seed):
        super().__init__(number, seed)
        self.certain = set()
        self.pending = None
        self.next = 0

    def step(self, cursor):
        self.pending = self.next
        self.next += 1
        cursor.execute("INSERT INTO log VALUES (%s, %s, 0, %s), (%s, %s, 1, %s)",
                       (self.number, self.pending, PAYLOAD, self.number, self.pending, PAYLOAD))
        self.certain.add(self.pending)
        self.pending = None

    def verify(self, cursor):
        cursor.execute("SELECT seq, half FROM log WHERE writer = %s", (self.number,))
        seen = collections.Counter(cursor.fetchall())
        whole = {seq for seq, half in seen if half == 0}
        halves = [seq for seq in {seq for seq, _ in seen} if seen[seq, 0] != 1 or seen[seq, 1] != 1]
        yield from (f"insert {self.number}/{seq}: {seen[seq, 0]} and {seen[seq, 1]} of its halves" for seq in halves)
        yield from (f"insert {self.number}/{seq}: acknowledged and gone" for seq in sorted(self.certain - whole))
        allowed = self.certain | ({self.pending} if self.pending is not None else set())
        yield from (f"insert {self.number}/{seq}: never sent" for seq in sorted(whole - allowed))
        self.certain, self.pending = whole, None


class TwoTables(Writer):
    """Transactions that insert into two tables; some are rolled back."""

    schema = "CREATE TABLE left_half (writer int, seq int); CREATE TABLE right_half (writer int, seq int)"

    def __init__(self, number, seed):
        super().__init__(number, seed)
        self.certain = set()
        self.pending = None
        self.next = 0

    def step(self, cursor):
        seq = self.next
        self.next += 1
        commit = self.random.random() < 0.8
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO left_half VALUES (%s, %s)", (self.number, seq))
        cursor.execute("INSERT INTO right_half VALUES (%s, %s)", (self.number, seq))
        if commit:
            self.pending = seq
        cursor.execute("COMMIT" if commit else "ROLLBACK")
        if commit:
            self.certain.add(seq)
            self.pending = None

    def verify(self, cursor):
        sides = []
        for table in ("left_half", "right_half"):
            cursor.execute(f"SELECT seq FROM {table} WHERE writer = %s", (self.number,))
            sides.append(collections.Counter(seq for seq, in cursor.fetchall()))
        left, right = sides
        if left != right:
            yield f"transaction {self.number}: halves differ: {sorted((left - right) + (right - left))[:5]}"
        yield from (f"transaction {self.number}/{seq}: {n} times" for seq, n in left.items() if n != 1)
        yield from (f"transaction {self.number}/{seq}: acknowledged and gone" for seq in sorted(self.certain - set(left)))
        allowed = self.certain | ({self.pending} if self.pending is not None else set())
        yield from (f"transaction {self.number}/{seq}: never committed" for seq in sorted(set(left) - allowed))
        self.certain, self.pending = set(left), None


class Counter(Writer):
    """UPDATE n = n + 1 on a row of its own: exactly once each."""

    schema = "CREATE TABLE counters (id int, n bigint)"

    def __init__(self, number, seed):
        super().__init__(number, seed)
        self.certain = None
        self.pending = False

    def step(self, cursor):
        if self.certain is None:
            cursor.execute("INSERT INTO counters SELECT %s, 0 WHERE NOT EXISTS (SELECT 1 FROM counters WHERE id = %s)",
                           (self.number, self.number))
            self.certain = 0
        self.pending = True
        cursor.execute("UPDATE counters SET n = n + 1 WHERE id = %s", (self.number,))
        self.certain += 1
        self.pending = False

    def verify(self, cursor):
        cursor.execute("SELECT n FROM counters WHERE id = %s", (self.number,))
        rows = [n for n, in cursor.fetchall()]
        if self.certain is None:
            if rows not in ([], [0]):
                yield f"counter {self.number}: {rows} before its first acknowledgement"
            return
        allowed = {self.certain, self.certain + 1} if self.pending else {self.certain}
        if len(rows) != 1 or rows[0] not in allowed:
            yield f"counter {self.number}: shows {rows}, acknowledged {self.certain}, allowed {sorted(allowed)}"
        if rows:
            self.certain = rows[0]
        self.pending = False


class Transfer(Writer):
    """Moves money between shared accounts in transactions: the sum never changes."""

    ACCOUNTS = 20
    TOTAL = 20000
    schema = (f"CREATE TABLE accounts (id int, balance bigint); "
              f"INSERT INTO accounts SELECT g, {TOTAL // ACCOUNTS} FROM generate_series(1, {ACCOUNTS}) AS g")

    def step(self, cursor):
        source, target = self.random.sample(range(1, self.ACCOUNTS + 1), 2)
        amount = self.random.randint(1, 10)
        if self.random.random() < 0.5:
            cursor.execute("UPDATE accounts SET balance = balance + CASE WHEN id = %s THEN -%s ELSE %s END "
                           "WHERE id IN (%s, %s)", (source, amount, amount, source, target))
            return
        cursor.execute("BEGIN")
        cursor.execute("UPDATE accounts SET balance = balance - %s WHERE id = %s", (amount, source))
        cursor.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (amount, target))
        cursor.execute("COMMIT")

    def verify(self, cursor):
        cursor.execute("SELECT count(*), sum(balance), count(DISTINCT id) FROM accounts")
        row = cursor.fetchone()
        if tuple(map(int, row)) != (self.ACCOUNTS, self.TOTAL, self.ACCOUNTS):
            yield f"accounts: (count, sum, distinct) is {row}"


class Copier(Writer):
    """COPY of a few hundred rows at once: a batch is there as a whole or not at all."""

    schema = "CREATE TABLE batches (writer int, batch int, item int, payload text)"

    def __init__(self, number, seed):
        super().__init__(number, seed)
        self.sizes = {}
        self.certain = set()
        self.pending = None
        self.next = 0

    def step(self, cursor):
        self.pending = self.next
        self.next += 1
        size = self.sizes[self.pending] = self.random.choice([1, 10, 300, 2000])
        text = "".join(f"{self.number}\t{self.pending}\t{item}\t{PAYLOAD}\n" for item in range(size))
        cursor.copy_expert("COPY batches FROM STDIN", io.StringIO(text))
        self.certain.add(self.pending)
        self.pending = None

    def verify(self, cursor):
        cursor.execute("SELECT batch, count(*), count(DISTINCT item) FROM batches WHERE writer = %s GROUP BY batch",
                       (self.number,))
        seen = {batch: (count, items) for batch, count, items in cursor.fetchall()}
        for batch, counts in seen.items():
            if counts != (self.sizes[batch],) * 2:
                yield f"copy {self.number}/{batch}: {counts} of {self.sizes[batch]} rows"
        yield from (f"copy {self.number}/{batch}: acknowledged and gone" for batch in sorted(self.certain - set(seen)))
        allowed = self.certain | ({self.pending} if self.pending is not None else set())
        yield from (f"copy {self.number}/{batch}: never sent" for batch in sorted(set(seen) - allowed))
        self.certain, self.pending = set(seen), None


class Definer(Writer):
    """Creates and drops tables, views, materialized views and indexes; what exists is whole and answers."""

    KINDS = ("TABLE", "VIEW", "MATERIALIZED VIEW", "INDEX")

    def __init__(self, number, seed):
        super().__init__(number, seed)
        self.state = {}  # name: (kind, exists or None when in the air)
        self.next = 0

    def step(self, cursor):
        existing = [name for name, (_, exists) in self.state.items() if exists]
        if len(existing) > 12 or (existing and self.random.random() < 0.35):
            name = self.random.choice(existing)
            self.change(cursor, name, self.state[name][0], f"DROP {self.state[name][0]} {name}", False)
            return
        kind = self.random.choice(self.KINDS)
        name = f"d{self.number}_{self.next}_{kind.split()[0].lower()}"
        self.next += 1
        definition = {"TABLE": f"CREATE TABLE {name} (a int, b text)",
                      "VIEW": f"CREATE VIEW {name} AS SELECT writer, count(*) AS n FROM log GROUP BY writer",
                      "MATERIALIZED VIEW": f"CREATE MATERIALIZED VIEW {name} AS SELECT id, balance FROM accounts WHERE id < 5",
                      "INDEX": f"CREATE INDEX {name} ON log (writer, seq)"}[kind]
        self.change(cursor, name, kind, definition, True)

    def change(self, cursor, name, kind, statement, exists):
        self.state[name] = (kind, None)
        cursor.execute(statement)
        self.state[name] = (kind, exists)

    def verify(self, cursor):
        cursor.execute("SELECT name FROM mz_objects WHERE name LIKE %s", (f"d{self.number}\\_%",))
        shown = [name for name, in cursor.fetchall()]
        yield from (f"catalog: {name} is there twice" for name, n in collections.Counter(shown).items() if n > 1)
        for name, (kind, exists) in sorted(self.state.items()):
            there = name in shown
            if exists is not None and exists != there:
                yield f"catalog: {kind} {name} was acknowledged as {'created' if exists else 'dropped'}"
            self.state[name] = (kind, there)
            if there and kind != "INDEX":
                cursor.execute(f"SELECT count(*) FROM {name}")
                cursor.fetchone()
        for name in set(shown) - set(self.state):
            yield f"catalog: {name} was never created"
        self.state = {name: entry for name, entry in self.state.items() if entry[1]}
