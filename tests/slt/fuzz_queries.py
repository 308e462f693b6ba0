# SPDX-License-Identifier: Apache-2.0
"""Random SELECTs whose results PostgreSQL defines completely.

Everything that SQL leaves open is closed by construction: LIMIT and DISTINCT ON order by all their outputs, ordered
aggregates order by their argument. A query is text and the types of its columns.
"""

TABLES = {
    "p": [("a", "int4"), ("b", "int4"), ("c", "text"), ("d", "numeric"), ("e", "date")],
    "q": [("a", "int4"), ("g", "int8"), ("c", "varchar"), ("f", "float8"), ("h", "bool")],
    "r": [("k", "int4"), ("s", "bpchar"), ("m", "timestamp"), ("v", "int4[]"), ("n", "numeric")],
    "w": [("k", "int2"), ("b", "int4"), ("i", "interval"), ("z", "timestamptz"), ("u", "real_numeric")],
}
# Kinds that are a type declared in another way.
DECLARED = {"numeric": "numeric(12,2)", "varchar": "varchar(6)", "bpchar": "char(3)", "real_numeric": "numeric"}
VALUES = {
    "int2": ["0", "1", "2", "32767", "-32768", "3"],
    "int4": ["0", "1", "2", "3", "4", "1", "2", "-1", "2147483647", "-2147483648"],
    "int8": ["0", "1", "2", "3", "2", "9223372036854775807", "-9223372036854775808"],
    "text": ["'a'", "'b'", "'ab'", "'B'", "''", "'a b'", "'x%'", "'ä€'", "'1'", "'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz'"],
    "varchar": ["'a'", "'b'", "'ab'", "''", "'a '", "'1'", "'ä€'"],
    "bpchar": ["'a'", "'b'", "'ab'", "''", "'a '", "'1'"],
    "numeric": ["0", "1", "1.5", "2.25", "-3", "9999999999.99", "2"],
    "real_numeric": ["0", "1.0", "1.00", "1", "1e20", "-0.001", "'NaN'", "2.5"],
    "float8": ["0", "1", "1.5", "-2", "'NaN'", "'Infinity'", "1e300", "2", "'-0'"],
    "bool": ["true", "false"],
    "date": ["'2020-01-01'", "'2020-02-29'", "'1999-12-31'", "'2021-06-15'", "'infinity'"],
    "timestamp": ["'2020-01-01 00:00:00'", "'2020-02-29 12:34:56.789'", "'1999-12-31 23:59:59'"],
    "timestamptz": ["'2020-01-01 00:00:00+00'", "'2020-02-29 12:34:56.789+02'", "'1999-12-31 23:59:59+00'"],
    "time": ["'00:00'", "'12:34:56.5'"],
    "int4[]": ["'{1,2,3}'", "'{}'", "'{2,NULL}'", "'{1}'"],
    "interval": ["'1 day'", "'2 hours'", "'1 mon 3 days'", "'24 hours'", "'30 days'", "'1 mon'"],
    "text[]": ["'{a,b}'", "'{}'"],
}
TYPES = ["int4", "int4", "int4", "int8", "text", "text", "numeric", "float8", "bool", "date", "timestamp", "int4[]", "interval",
         "varchar", "bpchar", "int2", "timestamptz", "time", "real_numeric"]
ORDERED = ["int4", "int4", "int8", "text", "text", "numeric", "float8", "date", "timestamp", "bool", "varchar", "bpchar", "int2",
           "timestamptz", "time"]
# Compared with each other, and where a common type is sought; the first wins.
MIXED = [("int8", "int4"), ("int4", "int2"), ("numeric", "int4"), ("numeric", "int8"), ("float8", "int4"), ("float8", "numeric"),
         ("timestamp", "date"), ("text", "varchar"), ("timestamptz", "timestamp"), ("timestamptz", "date")]


def type_of(kind):
    return "numeric" if kind == "real_numeric" else kind


class Env:
    """What an expression may name: the columns of its level, the levels around, and under grouping the inputs of aggregates."""

    def __init__(self, columns, outer=None, inputs=None):
        self.columns, self.outer, self.inputs = columns, outer, inputs


class Generator:
    def __init__(self, random, failing=False, mistakes=0, tables=None):
        self.random, self.failing = random, failing
        self.mistakes = mistakes  # how many places may get an expression of the wrong type, or a wrong name
        self.tables = tables or TABLES
        self.names = 0
        self.ctes = []

    def one_in(self, n):
        return self.random.randrange(n) == 0

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    # ---- Scalars.

    def literal(self, kind):
        if self.one_in(12):
            return f"NULL::{type_of(kind)}"
        value = self.random.choice(VALUES[kind])
        if kind in ("int4",) and not value.startswith("-") and len(value) < 5:
            return value
        return value if kind == "text" and self.one_in(2) else f"({value})::{type_of(kind)}"

    def leaf(self, kind, env):
        found = []
        level, depth = env, 0
        while level is not None:
            here = [text for text, t in level.columns if t == kind]
            found += here * (3 if depth == 0 else 2)
            level, depth = level.outer, depth + 1
        if found and not self.one_in(6):
            return self.random.choice(found)
        return self.literal(kind)

    def scalar(self, kind, env, depth):
        if self.mistakes and self.one_in(8):
            self.mistakes -= 1
            return self.mistaken(env, depth)
        if env.inputs is not None and (self.one_in(3) if depth > 0 else self.one_in(2)):
            text = self.aggregate(kind, env, depth)
            if text:
                return text
        if depth <= 0 or self.one_in(4):
            return self.leaf(kind, env)
        if self.one_in(7):
            return self.general(kind, env, depth - 1)
        return getattr(self, "make_" + kind.replace("[]", "_array"))(env, depth - 1)

    def mistaken(self, env, depth):
        choice = self.random.randrange(10)
        if choice == 0:
            return self.random.choice(["nosuch", "t1.nosuch", "nosuch.a", "t99.a"])
        if choice == 1 and env.columns:
            return self.random.choice(env.columns)[0].split(".")[-1]
        if choice == 2 and env.inputs is not None and env.inputs.columns:
            return self.random.choice(env.inputs.columns)[0]
        if choice == 3:
            return self.random.choice(["count(*)", "max(1)", "sum('a')", "length(1, 2)", "nosuch(1)", "lower(1)", "abs('x')", "sum(true)",
                                       "generate_series(1, 2)", "(1, 2)", "'a' || 1", "1 || 2", "NULL || NULL", "-'1'", "'1' + '2'",
                                       "2 + '1'", "2 + 'a'", "coalesce(NULL, 'a')", "CASE WHEN 1 THEN 2 END", "1 = '1'", "1 = 'a'",
                                       "'a' = 'b'", "NOT 1", "ARRAY[]", "ARRAY[1, 'a']", "ARRAY[1, true]", "(SELECT 1, 2)",
                                       "1 IN (SELECT 1, 2)", "(1, 2) IN (SELECT 1)", "1 IN ('a', 2)", "date '2020-13-01'", "1::date", "'x'::bool",
                                       "true + 1", "date '2020-01-01' + 1.5", "date '2020-01-01' - date '2019-01-01'", "1 BETWEEN 'a' AND 2",
                                       "nullif(1, 'a')", "greatest(1, 'a')", "extract(nosuch FROM date '2020-01-01')", "1.5::int4 % 2.5",
                                       "string_agg('a')", "array_agg()", "count()", "avg('1')", "min(NULL)", "round(1.5::float8, 1)", "'1'::int4 / 2.0"])
        return self.scalar(self.random.choice(TYPES), env, depth)

    def general(self, kind, env, depth):
        one = lambda: self.scalar(kind, env, depth)
        choice = self.random.randrange(8)
        lower = [low for high, low in MIXED if high == kind]
        if choice == 7 and lower:
            other = self.scalar(self.random.choice(lower), env, depth)
            return self.random.choice([f"coalesce({other}, {one()})", f"CASE WHEN {self.scalar('bool', env, depth)} THEN {other} ELSE {one()} END",
                                       f"greatest({one()}, {other})"])
        if choice == 0:
            return f"CASE WHEN {self.scalar('bool', env, depth)} THEN {one()} ELSE {one()} END"
        if choice == 1:
            return f"CASE {self.scalar('int4', env, depth)} WHEN {self.literal('int4')} THEN {one()} WHEN 2 THEN {one()} END"
        if choice == 2:
            return f"coalesce({one()}, {one()})"
        if choice == 3 and kind in ORDERED:
            return f"nullif({one()}, {one()})"
        if choice == 4 and kind in ORDERED:
            return f"{self.random.choice(['greatest', 'least'])}({one()}, {one()})"
        if choice == 5 and depth > 0:
            return f"({self.query(env, depth - 1, [kind], single=True)})"
        return one()

    def make_int4(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        options = [lambda: f"length({s('text')})", lambda: f"({s('int4')} % {self.random.choice(['3', '7'])})",
                   lambda: f"({s('int4')} & {s('int4')})", lambda: f"cardinality({s('int4[]')})",
                   lambda: f"({s('int4[]')})[{self.random.choice(['1', '2', '0'])}]", lambda: f"strpos({s('text')}, {s('text')})",
                   lambda: f"array_length({s('int4[]')}, 1)", lambda: f"{s('bool')}::int4", lambda: f"{s('int2')}::int4",
                   lambda: f"ascii({s('text')})", lambda: f"(~{s('int4')})"]
        if self.failing:
            options += [lambda: f"({s('int4')} {self.random.choice('+-*/%')} {s('int4')})", lambda: f"{s('text')}::int4",
                        lambda: f"{s('int8')}::int4", lambda: f"(-{s('int4')})",
                        lambda: f"extract(year from {s('timestamp')})::int4"]
        return self.random.choice(options)()

    def make_int8(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        options = [lambda: f"({s('int4')}::int8 + {s('int4')})", lambda: f"({s('int4')}::int8 - {s('int4')})", lambda: f"{s('int4')}::int8",
                   lambda: f"({s('int8')} % 5)"]
        if self.failing:
            options += [lambda: f"({s('int8')} {self.random.choice('+-*/')} {s('int4')})", lambda: f"{s('numeric')}::int8"]
        return self.random.choice(options)()

    def make_numeric(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        options = [lambda: f"({s('numeric')} {self.random.choice('+-')} {s('numeric')})", lambda: f"{s('int4')}::numeric",
                   lambda: f"round({s('numeric')}, 1)", lambda: f"abs({s('numeric')})", lambda: f"floor({s('numeric')})",
                   lambda: f"({s('numeric')} * {s('int4')})", lambda: f"extract(epoch from {s('interval')})",
                   lambda: f"trunc({s('numeric')})", lambda: f"({s('numeric')} / 4)", lambda: f"(-{s('numeric')})"]
        if self.failing:
            options += [lambda: f"({s('numeric')} / {s('int4')})", lambda: f"({s('numeric')} % {s('numeric')})"]
        return self.random.choice(options)()

    def make_text(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        options = [lambda: f"({s('text')} || {s('text')})", lambda: f"upper({s('text')})", lambda: f"lower({s('text')})",
                   lambda: f"substr({s('text')}, {self.random.choice(['1', '2'])}, {self.random.choice(['1', '3'])})",
                   lambda: f"substring({s('text')} from 2)",
                   lambda: f"left({s('text')}, {self.random.choice(['1', '-1', '2'])})", lambda: f"replace({s('text')}, 'a', {s('text')})",
                   lambda: f"{s('int4')}::text", lambda: f"{s('date')}::text", lambda: f"{s('bool')}::text",
                   lambda: f"concat({s('text')}, {s('int4')}, {s('text')})", lambda: f"concat_ws('-', {s('text')}, {s('text')})",
                   lambda: f"trim({s('text')})", lambda: f"reverse({s('text')})", lambda: f"lpad({s('text')}, 4, '*')",
                   lambda: f"to_char({s('timestamp')}, 'YYYY-MM-DD HH24')", lambda: f"split_part({s('text')}, 'b', 1)",
                   lambda: f"({s('text')} || {s('int4')})", lambda: f"{s('int4[]')}::text", lambda: f"md5({s('text')})",
                   lambda: f"initcap({s('text')})", lambda: f"regexp_replace({s('text')}, '[ab]+', 'Q')",
                   lambda: f"{s('interval')}::text", lambda: f"array_to_string({s('int4[]')}, ',')"]
        return self.random.choice(options)()

    def make_bool(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        kind = self.random.choice(ORDERED)
        operator = self.random.choice(["=", "=", "<>", "<", "<=", ">", ">="])
        choice = self.random.randrange(25)
        if choice == 24:
            pair = list(self.random.choice(MIXED + [("text", "bpchar"), ("varchar", "bpchar")]))
            self.random.shuffle(pair)
            return f"({s(pair[0])} {operator} {s(pair[1])})"
        if choice < 5:
            return f"({s(kind)} {operator} {s(kind)})"
        if choice < 8:
            return f"({s('bool')} {self.random.choice(['AND', 'OR'])} {s('bool')})"
        if choice == 8:
            return f"(NOT {s('bool')})"
        if choice == 9:
            return f"({s(kind)} IS {self.random.choice(['', 'NOT '])}NULL)"
        if choice == 10:
            pattern = self.random.choice(["'a%'", "'%b'", "'_b'", "'%'", "''", "'%a%'", "'x\\%'"])
            return f"({s('text')} {self.random.choice(['LIKE', 'NOT LIKE', 'ILIKE', 'LIKE'])} {pattern if self.random.randrange(4) else s('text')})"
        if choice == 11:
            return f"({s('text')} {self.random.choice(['~', '!~', '~*'])} {self.random.choice(['$$^a$$', '$$b$$', '$$[ab]+$$', '$$^.b?$$'])})"
        if choice == 12:
            return f"({s(kind)} {self.random.choice(['', 'NOT '])}BETWEEN {self.random.choice(['', 'SYMMETRIC '])}{s(kind)} AND {s(kind)})"
        if choice == 13:
            return f"({s(kind)} {self.random.choice(['IN', 'NOT IN'])} ({s(kind)}, {s(kind)}, {self.literal(kind)}))"
        if choice == 14:
            return f"({s(kind)} IS {self.random.choice(['', 'NOT '])}DISTINCT FROM {s(kind)})"
        if choice == 15:
            return f"({s('bool')} IS {self.random.choice(['', 'NOT '])}{self.random.choice(['TRUE', 'FALSE', 'UNKNOWN'])})"
        if choice == 16:
            return f"({s('int4')} {operator} {self.random.choice(['ANY', 'ALL'])} ({s('int4[]')}))"
        if choice == 17:
            other = self.random.choice(ORDERED)
            return f"(({s(kind)}, {s(other)}) {operator} ({s(kind)}, {s(other)}))"
        if choice == 18:
            return f"({s('int4[]')} {self.random.choice(['=', '<', '@>', '&&', '<>'])} {s('int4[]')})"
        if depth <= 0:
            return f"({s('int4')} {operator} {s('int4')})"
        if choice == 19:
            return f"({self.random.choice(['', 'NOT '])}EXISTS ({self.query(env, depth - 1)}))"
        if choice in (20, 21):
            return f"({s(kind)} {self.random.choice(['IN', 'NOT IN'])} ({self.query(env, depth - 1, [kind])}))"
        if choice == 22:
            return f"({s(kind)} {operator} {self.random.choice(['ANY', 'ALL'])} ({self.query(env, depth - 1, [kind])}))"
        other = self.random.choice(ORDERED)
        return f"(({s(kind)}, {s(other)}) {self.random.choice(['IN', 'NOT IN'])} ({self.query(env, depth - 1, [kind, other])}))"

    def make_date(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        return self.random.choice([lambda: f"({s('date')} + {self.random.choice(['1', '31', '-1'])})", lambda: f"{s('timestamp')}::date",
                                   lambda: f"date_trunc('month', {s('timestamp')})::date"])()

    def make_timestamp(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        unit = self.random.choice(["'hour'", "'month'", "'week'", "'quarter'"])
        return self.random.choice([lambda: f"({s('timestamp')} + {self.literal('interval')})", lambda: f"date_trunc({unit}, {s('timestamp')})",
                                   lambda: f"({s('date')} - {self.literal('interval')})"])()

    def make_interval(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        options = [lambda: f"({self.literal('interval')} * ({s('int4')} % 5))", lambda: f"({s('interval')} + {self.literal('interval')})"]
        if self.failing:
            options.append(lambda: f"({s('timestamp')} - {s('timestamp')})")  # not of infinity
        return self.random.choice(options)()

    def make_float8(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        options = [lambda: f"{s('int4')}::float8", lambda: f"abs({s('float8')})", lambda: f"{s('numeric')}::float8",
                   lambda: f"floor({s('float8')})", lambda: f"(-{s('float8')})", lambda: f"round({s('float8')})",
                   lambda: f"sqrt(abs({s('int4')}::float8))"]
        if self.failing:
            options += [lambda: f"({s('float8')} {self.random.choice('+-*/')} {s('float8')})"]
        return self.random.choice(options)()

    def make_int4_array(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        options = [lambda: f"ARRAY[{s('int4')}, {s('int4')}]", lambda: f"array_append({s('int4[]')}, {s('int4')})",
                   lambda: f"({s('int4[]')} || {s('int4[]')})", lambda: f"array_remove({s('int4[]')}, {s('int4')})",
                   lambda: f"({s('int4[]')})[1:2]"]
        if depth > 0:
            options.append(lambda: f"ARRAY({self.query(env, depth - 1, ['int4'], ordered=True)})")
        return self.random.choice(options)()

    def make_int2(self, env, depth):
        return f"({self.scalar('int4', env, depth)} % 100)::int2"

    def make_varchar(self, env, depth):
        return f"{self.scalar('text', env, depth)}::varchar({self.random.choice([1, 3, 9])})"

    def make_bpchar(self, env, depth):
        return f"{self.scalar('text', env, depth)}::char({self.random.choice([1, 3])})"

    def make_timestamptz(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        return self.random.choice([lambda: f"{s('timestamp')}::timestamptz", lambda: f"({s('timestamptz')} + {self.literal('interval')})",
                                   lambda: f"({s('timestamp')} AT TIME ZONE 'Europe/Berlin')"])()

    def make_time(self, env, depth):
        s = lambda kind: self.scalar(kind, env, depth)
        return self.random.choice([lambda: f"{s('timestamp')}::time", lambda: f"({s('time')} + {self.literal('interval')})"])()

    def make_real_numeric(self, env, depth):
        return self.make_numeric(env, depth)

    def make_text_array(self, env, depth):
        return f"ARRAY[{self.scalar('text', env, depth)}, {self.scalar('text', env, depth)}]"

    # ---- Aggregates: over the inputs of the group.

    def aggregate(self, kind, env, depth):
        inside = env.inputs
        arg = lambda k: self.scalar(k, inside, min(depth - 1, 1))
        distinct = self.random.choice(["", "", "", "DISTINCT "])
        order = self.random.choice([" DESC", " ASC", " NULLS FIRST", " DESC NULLS LAST"])
        options = []
        if kind == "int8":
            any_kind = self.random.choice(ORDERED)
            options += ["count(*)", f"count({distinct}{arg(any_kind)})", f"sum({distinct}{arg('int4')})", f"sum({arg('int2')})"]
        if kind in ("int4", "text", "date", "timestamp", "numeric", "int8", "float8", "int2", "interval", "timestamptz", "bpchar", "time"):
            options += [f"{self.random.choice(['min', 'max'])}({arg(kind)})"]
        if kind == "numeric":
            options += [f"sum({distinct}{arg('int8')})", f"avg({distinct}{arg('int4')})", f"sum({distinct}{arg('numeric')})",
                        f"avg({distinct}{arg('numeric')})"]
        if kind == "bool":
            options += [f"{self.random.choice(['bool_and', 'bool_or', 'every'])}({arg('bool')})"]
        if kind == "text":
            text = arg(self.random.choice(["text", "text", "varchar"])) if not distinct else arg("text")
            separator = self.random.choice(["','", "''", "'; '"])
            if not self.is_constant(text):
                options += [f"string_agg({distinct}{text}, {separator} ORDER BY {text}{order})"]
        if kind == "int4[]":
            number = arg("int4")
            if not self.is_constant(number):
                options += [f"array_agg({distinct}{number} ORDER BY {number}{order})"]
        if not options:
            return None
        text = self.random.choice(options)
        if self.one_in(5):
            text += f" FILTER (WHERE {self.scalar('bool', inside, 1)})"
        return text

    @staticmethod
    def is_constant(text):
        return text.lstrip("(-").isdigit()  # ORDER BY a number in an aggregate is a constant all the same, but dull

    # ---- FROM.

    def table(self, env, depth, lateral):
        """(text, columns)"""
        alias = self.fresh("t")
        choice = self.random.randrange(12)
        if choice < 6 or depth <= 0:
            if self.ctes and self.one_in(3):
                name, columns = self.random.choice(self.ctes)
            else:
                name = self.random.choice(list(self.tables))
                columns = self.tables[name]
            return f"{name} {'AS ' if self.one_in(2) else ''}{alias}", [(f"{alias}.{c}", t) for c, t in columns]
        if choice < 9:
            kinds = [self.random.choice(TYPES) for _ in range(self.random.randint(1, 3))]
            body = self.query(lateral if lateral is not None else env.outer, depth - 1, kinds)
            names = [self.fresh("c") for _ in kinds]
            return (f"{'LATERAL ' if lateral is not None else ''}({body}) AS {alias}({', '.join(names)})",
                    [(f"{alias}.{c}", t) for c, t in zip(names, kinds)])
        if choice == 9:
            kinds = [self.random.choice(TYPES) for _ in range(2)]
            rows = ", ".join("(" + ", ".join(self.literal(kind) if i else f"{self.literal(kind)}::{type_of(kind)}" for kind in kinds) + ")"
                             for i in (0, 1, 2))
            return f"(VALUES {rows}) AS {alias}(x, y)", [(f"{alias}.x", kinds[0]), (f"{alias}.y", kinds[1])]
        inside = lateral if lateral is not None else Env([], env.outer)
        if choice == 10:
            return (f"generate_series(1, ({self.scalar('int4', inside, 1)}) % 4) AS {alias}(x)", [(f"{alias}.x", "int4")])
        return (f"unnest({self.scalar('int4[]', inside, 1)}) WITH ORDINALITY AS {alias}(x, y)",
                [(f"{alias}.x", "int4"), (f"{alias}.y", "int8")])

    def from_clause(self, outer, depth):
        env = Env([], outer)
        text, columns = self.table(env, depth, None)
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 3] if depth > 0 else [0, 0, 1])):
            join = self.random.choice(["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ","])
            lateral = Env(columns, outer) if join in ("JOIN", "LEFT JOIN", "CROSS JOIN", ",") and self.one_in(2) else None
            more, more_columns = self.table(env, depth - 1, lateral)
            both = columns + more_columns
            shared = {c.split(".")[1] for c, _ in columns} & {c.split(".")[1] for c, _ in more_columns}
            shared = [c for c in shared if sum(l.endswith("." + c) for l, _ in columns) == 1]
            if join not in (",", "CROSS JOIN") and shared and self.one_in(3):
                pairs = [(c, *(next(t for l, t in side if l.endswith("." + c)) for side in (columns, more_columns))) for c in sorted(shared)]
                pairs = [(c, l, r) for c, l, r in pairs if l == r and l in ORDERED or (l, r) in MIXED or (r, l) in MIXED]
                if pairs:
                    name, left_kind, right_kind = self.random.choice(pairs)
                    if left_kind == right_kind or join == "FULL JOIN":
                        text = f"{text} {join} {more} USING ({name})"
                        columns = both
                        continue
            if join == ",":
                text = f"{text}, {more}"
                # A later JOIN would bind tighter than the comma: its ON may name its own sides only.
                columns = both
                break
            text = f"{text} {join} {more}"
            if join == "FULL JOIN":
                text += f" ON {self.equality(columns, more_columns)}"
            elif join != "CROSS JOIN":
                on = [self.equality(columns, more_columns)] if not self.one_in(4) else []
                if not on or self.one_in(4):
                    # Subqueries over both sides in ON of an outer join are refused, so they stay shallow there.
                    on.append(self.scalar("bool", Env(both, outer), 1))
                text += f" ON {' AND '.join(on)}"
            columns = both
        return text, columns

    def equality(self, left, right):
        pairs = [(l, r) for l, lt in left for r, rt in right if lt == rt and lt in ORDERED]
        if not pairs:
            return "true"
        return " AND ".join(f"{l} = {r}" for l, r in self.random.sample(pairs, min(len(pairs), self.random.choice([1, 1, 2]))))

    # ---- Queries.

    def query(self, outer, depth, kinds=None, single=False, ordered=False, named=False):
        """A SELECT with columns of `kinds`; with `single`, of at most one row."""
        kinds = kinds or [self.random.choice(TYPES) for _ in range(self.random.randint(1, 3))]
        if not single and not ordered and depth > 0 and self.one_in(6):
            return self.set_operation(outer, depth, kinds)
        if depth > 0 and self.one_in(8):
            return self.with_query(outer, depth, kinds, single, ordered)
        return self.block(outer, depth, kinds, single, ordered, named)

    def with_query(self, outer, depth, kinds, single, ordered):
        name = self.fresh("cte")
        if self.one_in(4):
            start, all_rows = self.block(None, 0, ["int4", "text"], False, False, False), self.random.choice(["", " ALL"])
            body = f"({start}) UNION{all_rows} SELECT x % 5 + 1, y || 'a' FROM {name} WHERE x < 4 AND length(y) < 5"
            self.ctes.append((name, [("x", "int4"), ("y", "text")]))
            main = self.block(outer, depth, kinds, single, ordered, False)
            self.ctes.pop()
            return f"WITH RECURSIVE {name}(x, y) AS ({body}) {main}"
        inner = [self.random.choice(TYPES) for _ in range(2)]
        body = self.query(outer, depth - 1, inner)
        self.ctes.append((name, [("x", inner[0]), ("y", inner[1])]))
        main = self.block(outer, depth, kinds, single, ordered, False)
        self.ctes.pop()
        return f"WITH {name}(x, y) AS ({body}) {main}"

    def set_operation(self, outer, depth, kinds):
        operator = self.random.choice(["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"])
        others = [self.random.choice([low for high, low in MIXED if high == kind] or [kind]) if self.one_in(4) else kind for kind in kinds]
        left, right = self.query(outer, depth - 1, kinds), self.query(outer, depth - 1, others)
        text = f"({left}) {operator} ({right})"
        if self.one_in(4):
            text += self.order_by(len(kinds)) + f" LIMIT {self.random.randint(0, 4)}"
        return text

    def order_by(self, count, first=()):
        rest = [i for i in range(1, count + 1) if i not in first]
        self.random.shuffle(rest)
        suffixes = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC"]
        return " ORDER BY " + ", ".join(f"{i}{self.random.choice(suffixes)}" for i in [*first, *rest])

    def block(self, outer, depth, kinds, single, ordered, named):
        source, columns = self.from_clause(outer, depth)
        raw = Env(columns, outer)
        where = f" WHERE {self.scalar('bool', raw, depth)}" if not self.one_in(3) else ""
        whole = single and self.one_in(2)
        grouped = whole or self.one_in(3)
        tail = ""
        env = raw
        if grouped:
            keys = []
            if not whole:
                usable = [c for c in columns if c[1] in ORDERED]
                keys = self.random.sample(usable, min(len(usable), self.random.choice([1, 1, 2])))
                if self.one_in(5):
                    kind = self.random.choice(["int4", "text", "bool"])
                    key = self.scalar(kind, Env(columns), 1)
                    if any(text in key for text, _ in columns) and "SELECT" not in key:
                        keys.append((key, kind))
            env = Env(keys, outer, inputs=raw)
            if keys:
                tail = " GROUP BY " + ", ".join(text for text, _ in keys)
            elif not whole:
                tail = " GROUP BY ()"
            if self.one_in(3):
                tail += f" HAVING {self.scalar('bool', env, 1)}"
        targets = [self.scalar(kind, env, depth) for kind in kinds]
        if grouped and whole and "HAVING" not in tail and not any(self.has_aggregate(t) for t in targets):
            tail = " GROUP BY ()"
        distinct = ""
        limit = ""
        # Of equal values that look different, which one shows is open.
        hashable = not any(kind in ("interval", "bpchar") for kind in kinds)
        if single and not whole:
            limit = self.order_by(len(kinds)) + " LIMIT 1"
        elif hashable and self.one_in(6):
            distinct = "DISTINCT "
        elif hashable and self.one_in(8) and not ordered:
            distinct = "DISTINCT ON (1) "
            limit = self.order_by(len(kinds), first=(1,))
        if not limit and (ordered or self.one_in(5)):
            limit = self.order_by(len(kinds))
            if self.one_in(2):
                limit += f" LIMIT {self.random.randint(0, 4)}"
                if self.one_in(2):
                    limit += f" OFFSET {self.random.randint(0, 2)}"
        listed = ", ".join(t if not named or self.one_in(2) else f"{t} AS {self.fresh('n')}" for t in targets)
        return f"SELECT {distinct}{listed} FROM {source}{where}{tail}{limit}"

    @staticmethod
    def has_aggregate(text):
        return any(name in text for name in ("count(", "sum(", "min(", "max(", "avg(", "agg(", "bool_", "every("))

    # ---- Changes.

    def change(self, name):
        """An UPDATE, DELETE or INSERT of `name` by random expressions, and whether it returns rows."""
        columns = [(f"{name}.{c}", kind) for c, kind in self.tables[name]]
        env = Env(columns)
        # What is stored in a column with a modifier must fit.
        free = [(c, kind) for c, kind in self.tables[name] if kind not in DECLARED]
        where = f" WHERE {self.scalar('bool', env, 2)}"
        returning = f" RETURNING {self.scalar('text', env, 1)}, {columns[0][0]}" if self.one_in(3) else ""
        choice = self.random.randrange(3)
        if choice == 0:
            return f"DELETE FROM {name}{where}{returning}", bool(returning)
        if choice == 1:
            chosen = self.random.sample(free, min(len(free), self.random.randint(1, 2)))
            sets = ", ".join(f"{c} = {self.scalar(kind, env, 2)}" for c, kind in chosen)
            return f"UPDATE {name} SET {sets}{where}{returning}", bool(returning)
        query = self.block(None, 1, [kind for _, kind in free], False, True, False)
        query = query if " LIMIT " in query else query + " LIMIT 5"
        return f"INSERT INTO {name} ({', '.join(c for c, _ in free)}) {query}{returning}", bool(returning)

    def statement(self, depth):
        self.names, self.ctes = 0, []
        return self.query(None, depth, named=True)
