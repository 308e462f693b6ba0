#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a real PostgreSQL 15 for the answers to the queries of *.test, and writes them there.

Usage: generate.py [FILE.test …]. Starts a server of its own on 127.0.0.1 (as user postgres when run by root) and stops
it at the end. A file is a list of `query`, `----`, answer, separated by blank lines; queries are kept, answers
replaced. Rows have their columns joined by `|`, NULL is `\\N`; an error is `ERROR state message`. A query without
ORDER BY has its rows sorted. What is `-- ours:` on the line before is not asked: its answer is ours by design.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
BIN = pathlib.Path("/usr/lib/postgresql/15/bin")


def as_postgres(command):
    if os.getuid() != 0:
        return command
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + [str(c) for c in command]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="golden_pg_")
        if os.getuid() == 0:
            shutil.chown(self.dir, "postgres", "postgres")
        self.port = free_port()
        data = f"{self.dir}/data"
        subprocess.run(as_postgres([BIN / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--encoding=UTF8",
                                    "--lc-collate=C", "--lc-ctype=C.UTF-8", "--no-sync"]), check=True, stdout=subprocess.DEVNULL)
        subprocess.run(as_postgres([BIN / "pg_ctl", "-D", data, "-w", "-l", f"{self.dir}/log", "-o",
                                    f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off "
                                    "-c timezone=UTC", "start"]), check=True, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        subprocess.run(as_postgres([BIN / "pg_ctl", "-D", f"{self.dir}/data", "-m", "immediate", "stop"]), stdout=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def run(self, sql, files=()):
        command = ["psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", "postgres", "-A", "-t",
                   "-F", "|", "-P", "null=\\N", "-v", "VERBOSITY=verbose"]
        for name in files:
            command += ["-f", str(name)]
        if sql is not None:
            command += ["-c", sql]
        return subprocess.run(command, capture_output=True, text=True)


def read_cases(path):
    cases = []
    for block in path.read_text().split("\n\n"):
        block = block.strip("\n")
        if not block:
            continue
        query, _, answer = block.partition("\n----")
        cases.append((query, answer.strip("\n")))
    return cases


def is_ordered(query):
    """ORDER BY outside of parentheses."""
    depth = 0
    for i, c in enumerate(query):
        depth += (c == "(") - (c == ")")
        if depth == 0 and query.startswith("ORDER BY", i):
            return True
    return False


def main():
    paths = [pathlib.Path(p) for p in sys.argv[1:]] or sorted(HERE.glob("*.test"))
    with Server() as server:
        setup = server.run(None, [HERE / "setup.sql"])
        if setup.stderr:
            sys.exit(setup.stderr)
        for path in paths:
            out = []
            for query, answer in read_cases(path):
                if not query.startswith("-- ours:"):
                    result = server.run(query)
                    if "ERROR:" in result.stderr:
                        line = next(l for l in result.stderr.splitlines() if "ERROR:" in l)
                        state, message = line.split("ERROR:")[1].strip().split(": ", 1)
                        answer = f"ERROR {state} {message}"
                    else:
                        rows = result.stdout.splitlines()
                        if not is_ordered(query):
                            rows.sort()
                        answer = "\n".join(rows)
                out.append(f"{query}\n----\n{answer}".rstrip("\n") + "\n")
            path.write_text("\n".join(out))
            print(f"{path.name}: {len(out)} queries")


if __name__ == "__main__":
    main()
