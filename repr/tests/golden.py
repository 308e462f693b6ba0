#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a real PostgreSQL 15 what it makes of random values and writes golden files for repr's tests.

    golden.py --psql 'psql -h 127.0.0.1 -p 5432 -U postgres' --count 150 --out golden/

Each line is: what to do, its arguments, and what PostgreSQL answered, separated by tabs; an error is
"ERROR sqlstate message". The test reads the same lines. A large --count and --out elsewhere with
FRESHET_GOLDEN=folder ./repr_test "golden*" checks more than the stored files do.
"""
import argparse
import random
import subprocess

TRY = r"""
SET timezone = 'UTC';
CREATE OR REPLACE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  EXECUTE sql INTO r;
  RETURN coalesce(r, 'NULL');
EXCEPTION WHEN OTHERS THEN
  RETURN 'ERROR ' || SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TEMP TABLE q (id serial, sql text);
"""


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def ask(psql, statements):
    script = TRY + "COPY q (sql) FROM STDIN;\n"
    script += "".join(escape(s) + "\n" for s in statements) + "\\.\n"
    script += "COPY (SELECT pg_temp.try(sql) FROM q ORDER BY id) TO STDOUT;\n"
    done = subprocess.run(psql.split() + ["-q", "-X", "-v", "ON_ERROR_STOP=1"], input=script, text=True,
                          capture_output=True, check=True)
    answers = done.stdout.split("\n")[:-1]
    assert len(answers) == len(statements), (len(answers), len(statements))
    return answers  # still escaped as COPY does, which is how the files keep them


# --- numbers ---

def numeric_text(rng):
    style = rng.randrange(8)
    sign = rng.choice(["", "", "-"])
    if style == 0:
        return sign + str(rng.randrange(0, 1000))
    if style == 1:
        return sign + f"{rng.randrange(0, 100000)}.{rng.randrange(0, 100):02d}"
    if style == 2:
        return sign + "0." + "0" * rng.randrange(0, 12) + str(rng.randrange(1, 10**rng.randrange(1, 12)))
    if style == 3:
        return sign + str(rng.randrange(0, 10**rng.randrange(1, 60)))
    if style == 4:
        return sign + f"{rng.randrange(0, 10**rng.randrange(1, 40))}.{rng.randrange(0, 10**rng.randrange(1, 30))}"
    if style == 5:
        return sign + f"{rng.randrange(1, 1000)}e{rng.randrange(-30, 30)}"
    if style == 6:
        return sign + rng.choice(["0", "0.0", "0.000", "1", "1.0", "10", "100.00", "9999", "10000", "0.9999"])
    return rng.choice(["NaN", "Infinity", "-Infinity"]) if rng.random() < 0.5 else sign + str(rng.random())


def small_numeric(rng):
    return rng.choice(["", "-"]) + f"{rng.randrange(0, 200)}.{rng.randrange(0, 1000)}"


def positive_numeric(rng):
    return rng.choice([f"{rng.randrange(1, 10**rng.randrange(1, 25))}",
                       f"{rng.randrange(1, 10**6)}.{rng.randrange(0, 10**rng.randrange(1, 12))}",
                       f"0.{'0' * rng.randrange(0, 10)}{rng.randrange(1, 10**5)}",
                       f"1.{'0' * rng.randrange(0, 6)}{rng.randrange(1, 1000)}", "1", "2", "10", "0.95"])


BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "remainder": "%"}


def numeric_cases(rng, count):
    for _ in range(count):
        a, b = numeric_text(rng), numeric_text(rng)
        for name, operator in BINARY.items():
            yield [name, a, b], f"SELECT ({quote(a)}::numeric {operator} {quote(b)}::numeric)::text"
        n = rng.randrange(-6, 12)
        yield ["round", a, str(n)], f"SELECT round({quote(a)}::numeric, {n})::text"
        yield ["truncate", a, str(n)], f"SELECT trunc({quote(a)}::numeric, {n})::text"
        for name, function in (("ceil", "ceil"), ("floor", "floor"), ("trim_scale", "trim_scale"),
                               ("min_scale", "min_scale"), ("float8", "float8"), ("int8", "int8")):
            yield [name, a], f"SELECT {function}({quote(a)}::numeric)::text"
        yield ["compare", a, b], f"SELECT numeric_cmp({quote(a)}, {quote(b)})::text"
        p, s = rng.randrange(1, 20), rng.randrange(-3, 12)
        yield ["typmod", a, f"{p},{s}"], f"SELECT numeric_in({quote(a)}::cstring, 0, {((p << 16) | (s & 0x7ff)) + 4})::text"
        c = rng.choice([positive_numeric(rng), positive_numeric(rng), a])
        if "e" not in c:
            yield ["sqrt", c], f"SELECT sqrt({quote(c)}::numeric)::text"
            yield ["ln", c], f"SELECT ln({quote(c)}::numeric)::text"
        d = positive_numeric(rng)
        yield ["log", d, c], f"SELECT log({quote(d)}::numeric, {quote(c)}::numeric)::text"
        e = rng.choice([small_numeric(rng), small_numeric(rng), "0", "1", "NaN", "-Infinity"])
        yield ["exp", e], f"SELECT exp({quote(e)}::numeric)::text"
        f = rng.choice([small_numeric(rng), str(rng.randrange(-20, 40)), "0.5"])
        g = rng.choice([small_numeric(rng), positive_numeric(rng)])
        if len(g) < 20:
            yield ["power", g, f], f"SELECT power({quote(g)}::numeric, {quote(f)}::numeric)::text"


# --- text in and out ---

INPUT = {"numeric": "numeric_in", "varchar": "varcharin", "bpchar": "bpcharin", "timestamp": "timestamp_in",
         "timestamptz": "timestamptz_in", "time": "time_in", "interval": "interval_in"}


def clock(rng):
    return rng.choice(["04:05:06", "04:05", "23:59:59.999999", "24:00:00", "24:00:01", "00:00:60", "4:5:6.7",
                       "12:34:56.1234567", "25:00", "10:60", "040506", "0405", "04:05:06.5 PM", "04:05 am", "12:00 AM",
                       "12:30 PM", "13:00 PM", "04:05:06.", "040506.25", "allballs", "00:00:00.0000005",
                       f"{rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}.{rng.randrange(10**6)}"])


def day(rng):
    y, m, d = rng.randrange(1, 3000), rng.randrange(1, 14), rng.randrange(1, 32)
    names = ["Jan", "february", "MAR", "Sept", "december", "Oct"]
    return rng.choice([f"{y:04d}-{m:02d}-{d:02d}", f"{m}/{d}/{y}", f"{y}{m:02d}{d:02d}", f"{y:04d}/{m}/{d}",
                       f"{rng.choice(names)} {d}, {y:04d}", f"{d} {rng.choice(names)} {y:04d}",
                       f"{y:04d}-{rng.choice(names)}-{d:02d}", f"{d:02d}-{rng.choice(names)}-{y:04d}",
                       f"{rng.choice(names)}-{d:02d}-{y:04d}", f"{y:04d}.{rng.randrange(1, 366):03d}", f"J{rng.randrange(1, 5000000)}",
                       f"{y:04d}-{m:02d}-{d:02d} BC", f"{m}/{d}/{y % 100:02d}", f"{y % 100:02d}{m:02d}{d:02d}",
                       f"{d:02d}-{rng.choice(names)}-{y % 100:02d}", "Mon Feb 10 1997", "99999-01-01", "294277-01-01",
                       "5874897-12-31", "4714-11-23 BC", "4713-01-01 BC", "0000-01-01", "2023-02-29", "2024-02-29",
                       "infinity", "-infinity", "epoch", f"{y:04d}-{m:02d}", f"{y}", "", " ", "abc", "12.5.2020",
                       "2020-13-01", "2020-1-1 ", " 2020-01-01", "+infinity", "2020-01-01-01", "08-Jan-99", "1999 Jan 8",
                       "Jan 8 1999", "8 Jan", "January 8, 99 BC", "May", "1.2", "20200101 extra"])


def zone(rng):
    return rng.choice(["", "", "+00", "-08", "+05:30", " UTC", "Z", " EST", " America/New_York", " europe/Berlin", "+0530",
                       "-16", "+15:59:59", " PDT", " nowhere", " +1", "+01:75"])


def moment(rng):
    plain = f"{rng.randrange(1, 3000):04d}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
    return rng.choice([f"{day(rng)} {clock(rng)}", f"{plain}T{clock(rng)}", day(rng), f"{clock(rng)} {day(rng)}",
                       f"2024-0{rng.randrange(1, 10)}-1{rng.randrange(10)} 0{rng.randrange(10)}:30:00"]) + zone(rng)


UNITS = ["year", "years", "mon", "months", "week", "days", "day", "hours", "h", "min", "m", "minutes", "sec", "seconds", "s",
         "ms", "milliseconds", "us", "microsecond", "decade", "century", "millennium", "yr", "y", "d", "w", "foo"]


def span(rng):
    def number():
        return rng.choice(["", "-", "+"]) + rng.choice([str(rng.randrange(100)), f"{rng.randrange(10)}.{rng.randrange(1000)}",
                                                       f".{rng.randrange(100)}"])
    parts = [f"{number()} {rng.choice(UNITS)}" for _ in range(rng.randrange(1, 4))]
    iso = "P" + rng.choice(["1Y", "2M", "1Y2M3D", "1.5Y", "0.5M", "3W", "-1D", ""]) + rng.choice(
        ["", "T1H", "T1H2M3.5S", "T-1.5H", "T0.000001S", "T"])
    return rng.choice([" ".join(parts), " ".join(parts), "@ " + " ".join(parts) + " ago",
                       f"{rng.randrange(400)} {rng.choice(['-', '+', ''])}{rng.randrange(99):02d}:{rng.randrange(60):02d}:0{rng.randrange(10)}.5",
                       f"{rng.choice(['', '-'])}{rng.randrange(100)}-{rng.randrange(14)}", iso, "P0001-02-03T04:05:06",
                       clock(rng), "1 day -1 day", "1 2 3", "5", "1.5", "1-2 3 4:05:06", "2147483647 months", "2147483648 months",
                       "1 day 1 day", "", "1y2mon3d4h5m6s", "1 mon -1 day +01:02:03", "-1 mon 1 day -00:00:00.1",
                       "153722867280 minutes", "9223372036854775807 us", "1.9999999 sec"])


def element(rng):
    return rng.choice(["1", "-5", "NULL", "null", '"null"', '"a b"', "a", '"x\\"y"', "", " 7 ", '""', "\\,", "a\\\\b", '"{}"'])


def array(rng):
    flat = "{" + ",".join(element(rng) for _ in range(rng.randrange(5))) + "}"
    ints = "{" + ",".join(str(rng.randrange(100)) for _ in range(rng.randrange(1, 4))) + "}"
    return rng.choice([flat, flat, ints, "{" + ints + "," + ints + "}", f"[{rng.randrange(-2, 3)}:{rng.randrange(3)}]={ints}",
                       "{}", "{{}}", "{1,{2}}", "{{1},2}", "{1,2", "1,2}", "{1,,2}", "{1}x", " { 1 , 2 } ", "[1:2]{1,2}",
                       "[2:3]={1,2}", "[0:1][1:1]={{1},{2}}", "{{1,2},{3}}", "{{{1,2},{3,4}}}", "[1:1]={}", '{"a"b}', '{a"b"}'])


def scalar(rng, kind):
    if kind == "bool":
        return rng.choice(["t", "TRUE", "f", "fal", "yes", "y", "n", "on", "of", "o", "off", "1", "0", "2", " true ", "", "tr ue", "yesx"])
    if kind in ("int2", "int4", "int8", "oid"):
        return rng.choice([str(rng.randrange(-10**rng.randrange(1, 22), 10**rng.randrange(1, 22))), " 12 ", "+5", "-0", "", "1.0", "x",
                           "32767", "32768", "-32768", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808",
                           "- 1", "+-1", "1 2", "4294967295", "4294967296", "0x10", "007"])
    if kind in ("float4", "float8"):
        return rng.choice([repr(rng.uniform(-1, 1) * 10**rng.randrange(-40, 40)), str(rng.randrange(-10**18, 10**18)), "NaN", "nan",
                           "Infinity", "-inf", "inf", "1e400", "1e-400", "1e39", "1e-46", "0", "-0", "", "x", "1e", "1.5e3", " 2.5 ", ".5",
                           "5.", "1e15", "1e14", "123456789012345678", "0.0001", "0.00001", "100000", "1000000", "1e5", "1e6", "+1",
                           str(rng.randrange(10**7) / 100), "1.5x", "3.4028235e38", "1e23", "9007199254740993"])
    if kind == "numeric":
        return rng.choice([numeric_text(rng), numeric_text(rng), "1e131071", "1e131072", "1e-16383", "1e-16384", "", ".", "1.2.3", "e5", "1e",
                           " 1.5 ", "+inf", "-nan", "nan ", "0x1", "1e+5", "1E5", "000012.500", ".5", "5.", "-.5", "1e99999999999"])
    if kind == "bytea":
        return rng.choice(["\\x", "\\x0102ff", "\\xAbC", "\\x0g", "\\x 01 02 ", "abc", "a\\\\b", "a\\001b", "a\\1", "\\777", "", "é"])
    if kind == "uuid":
        base = "%032x" % rng.getrandbits(128)
        hyphens = f"{base[:8]}-{base[8:12]}-{base[12:16]}-{base[16:20]}-{base[20:]}"
        return rng.choice([base, hyphens, hyphens.upper(), "{" + hyphens + "}", base[:31], base + "0", "{" + hyphens, hyphens + "}",
                           "-".join(base[i:i + 4] for i in range(0, 32, 4)), base[:2] + "-" + base[2:], "x" + base[1:], ""])
    if kind == "date":
        return day(rng) + rng.choice(["", "", "", " " + clock(rng)])
    if kind == "time":
        return clock(rng) + rng.choice(["", "", zone(rng)])
    if kind in ("timestamp", "timestamptz"):
        return moment(rng)
    if kind == "interval":
        return span(rng)
    if kind == "name":
        return rng.choice(["a", "x" * 70, "é" * 40, ""])
    return rng.choice(["a", "", "ab ", "  x", "héllo", "abcdef", "abc   ", "a\tb", "😀😀"])


KINDS = ["bool", "int2", "int4", "int8", "oid", "float4", "float8", "numeric", "text", "name", "bytea", "date", "time",
         "timestamp", "timestamptz", "interval", "interval", "uuid"]
TYPMODS = {"numeric": [(5 << 16 | 2) + 4, (3 << 16 | 3) + 4, (10 << 16) + 4, (4 << 16 | (-2 & 0x7ff)) + 4], "varchar": [4 + 3, 4 + 6],
           "bpchar": [4 + 3, 4 + 6], "timestamp": [0, 2, 3], "timestamptz": [0, 3], "time": [0, 2],
           "interval": [(0x7fff << 16) | 2, (4 << 16) | 0xffff, (2 << 16) | 0xffff, (6 << 16) | 0xffff, (8 << 16) | 0xffff,
                        (0x400 << 16) | 0xffff, (0xC00 << 16) | 0xffff, (0x1800 << 16) | 0xffff, (0x1c08 << 16) | 1]}


def text_cases(rng, count):
    for _ in range(count):
        for kind in KINDS:
            text = scalar(rng, kind)
            cast = f"textin(boolout({quote(text)}::bool))" if kind == "bool" else f"{quote(text)}::{kind}::text"
            yield ["in", kind, "-1", text], f"SELECT {cast}"
        for kind, typmods in TYPMODS.items():
            text, typmod = scalar(rng, kind), rng.choice(typmods)
            if text in ("1e131072", "1e-16384", "9223372036854775807 us"):
                continue  # PostgreSQL rounds before it looks at its limits, and wraps the last
            yield (["in", kind, str(typmod), text],
                   f"SELECT textin({kind}out({INPUT[kind]}({quote(text)}::cstring, 0, {typmod})))"
                   .replace("numericout", "numeric_out").replace("timestampout", "timestamp_out")
                   .replace("timestamptzout", "timestamptz_out").replace("timeout", "time_out").replace("intervalout", "interval_out"))
        for kind in ("int4", "text", "float8"):
            text = array(rng)
            yield ["in", kind + "[]", "-1", text], f"SELECT {quote(text)}::{kind}[]::text"


SEND = {"bool": "boolsend", "int2": "int2send", "int4": "int4send", "int8": "int8send", "oid": "oidsend", "float4": "float4send",
        "float8": "float8send", "numeric": "numeric_send", "text": "textsend", "bytea": "byteasend", "date": "date_send",
        "time": "time_send", "timestamp": "timestamp_send", "timestamptz": "timestamptz_send", "interval": "interval_send",
        "uuid": "uuid_send", "int4[]": "array_send", "text[]": "array_send"}


def binary_cases(rng, count):
    for _ in range(count):
        for kind, send in SEND.items():
            text = array(rng) if kind.endswith("[]") else scalar(rng, kind)
            yield ["send", kind, text], f"SELECT encode({send}({quote(text)}::{kind}), 'hex')"


# --- calendar ---

FIELDS = ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "isoyear",
          "decade", "century", "millennium", "dow", "isodow", "doy", "epoch", "julian", "timezone", "foo"]


def good_timestamp(rng):
    return rng.choice([f"{rng.randrange(1, 4000):04d}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d} "
                       f"{rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}.{rng.randrange(10**6):06d}",
                       f"{rng.randrange(1, 4700):04d}-{rng.randrange(1, 13):02d}-28 12:00:00 BC", "2024-02-29 00:00:00",
                       "2023-12-31 23:59:59.999999", "2000-01-31 12:00:00", "infinity", "-infinity", "2100-03-31 01:00:00"])


def good_interval(rng):
    return (f"{rng.randrange(-30, 30)} months {rng.randrange(-400, 400)} days "
            f"{rng.randrange(-10**12, 10**12)} microseconds")


def calendar_cases(rng, count):
    zones = ["America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "UTC", "EST"]
    for _ in range(count):
        a, b, i, j = good_timestamp(rng), good_timestamp(rng), good_interval(rng), good_interval(rng)
        field = rng.choice(FIELDS)
        yield ["extract", field, a], f"SELECT extract({field} FROM timestamp {quote(a)})::text"
        yield ["extract_date", field, a], f"SELECT extract({field} FROM date {quote(a.split(' ')[0])})::text"
        yield ["extract_interval", field, i], f"SELECT extract({field} FROM interval {quote(i)})::text"
        yield ["trunc", field, a], f"SELECT date_trunc({quote(field)}, timestamp {quote(a)})::text"
        yield ["trunc_interval", field, i], f"SELECT date_trunc({quote(field)}, interval {quote(i)})::text"
        yield ["plus", a, i], f"SELECT (timestamp {quote(a)} + interval {quote(i)})::text"
        yield ["minus", a, b], f"SELECT (timestamp {quote(a)} - timestamp {quote(b)})::text"
        if "inf" not in a + b:
            yield ["age", a, b], f"SELECT age(timestamp {quote(a)}, timestamp {quote(b)})::text"
        factor = rng.choice([rng.uniform(-5, 5), 2, 0.5, 1 / 3, -1.5, 100])
        yield ["times", i, repr(float(factor))], f"SELECT (interval {quote(i)} * {quote(repr(float(factor)))}::float8)::text"
        yield ["over", i, repr(float(factor))], f"SELECT (interval {quote(i)} / {quote(repr(float(factor)))}::float8)::text"
        yield ["justify_hours", i], f"SELECT justify_hours(interval {quote(i)})::text"
        yield ["justify_days", i], f"SELECT justify_days(interval {quote(i)})::text"
        yield ["justify_interval", i], f"SELECT justify_interval(interval {quote(i)})::text"
        yield ["compare_interval", i, j], f"SELECT interval_cmp({quote(i)}, {quote(j)})::text"
        z = rng.choice(zones)
        m = rng.choice([a, f"2024-{rng.choice(['03-10', '11-03', '03-31', '10-27', '04-07', '10-06'])} 0{rng.randrange(4)}:{rng.randrange(60):02d}:00",
                        f"{rng.randrange(2038, 2400)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d} 02:30:00"])
        yield ["to_utc", z, m], f"SELECT ((timestamp {quote(m)} AT TIME ZONE {quote(z)}) AT TIME ZONE 'UTC')::text"
        yield ["to_local", z, m], f"SELECT ((timestamp {quote(m)} AT TIME ZONE 'UTC') AT TIME ZONE {quote(z)})::text"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--psql", default="psql -h 127.0.0.1 -U postgres")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="golden")
    options = parser.parse_args()
    for name, cases in (("numeric", numeric_cases), ("text", text_cases), ("binary", binary_cases), ("calendar", calendar_cases)):
        rng = random.Random(options.seed)
        unique = {}
        for arguments, statement in cases(rng, options.count):
            unique["\t".join(escape(a) for a in arguments)] = statement
        answers = ask(options.psql, list(unique.values()))
        with open(f"{options.out}/{name}.tsv", "w", encoding="utf-8") as out:
            for arguments, answer in zip(unique, answers):
                out.write(f"{arguments}\t{answer}\n")
        print(name, len(unique))


if __name__ == "__main__":
    main()
