# SPDX-License-Identifier: Apache-2.0
"""Servers that a proof starts and stops: Freshet, and a private PostgreSQL to compare with.

Both listen on a free port of 127.0.0.1 and write a log into the proof's folder.

    with Freshet(folder) as freshet, Postgres(folder) as postgres:
        freshet.rows("SELECT 1")
"""
import os
import pwd
import re
import resource
import signal
import socket
import subprocess
import time

import psycopg2

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def freshet_binary(arguments=None):
    candidates = [getattr(arguments, "freshet", None), os.environ.get("FRESHET_BINARY"),
                  os.path.join(ROOT, "build/release/bin/freshet"), os.path.join(ROOT, "build/dev/bin/freshet")]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    raise FileNotFoundError("no freshet binary: ./run build makes one, or name it with --freshet")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A process that speaks PostgreSQL's protocol on `port`."""

    user = "materialize"
    database = "materialize"

    def __init__(self):
        self.port = None
        self.process = None

    @property
    def address(self):
        return f"host=127.0.0.1 port={self.port} user={self.user} dbname={self.database} sslmode=disable"

    def connect(self, autocommit=True, **settings):
        connection = psycopg2.connect(self.address, **settings)
        connection.autocommit = autocommit
        return connection

    def run(self, sql, arguments=None):
        """Runs statements on a connection of their own; the rows of the last, if it returns any."""
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, arguments)
                return cursor.fetchall() if cursor.description else None
        finally:
            connection.close()

    rows = run

    def psql(self, *commands, script=None, check=True, timeout=None):
        """The real psql; returns what it printed."""
        arguments = ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", self.address]
        for command in commands:
            arguments += ["-c", command]
        done = subprocess.run(arguments, input=script, capture_output=True, text=True, timeout=timeout)
        if check and done.returncode != 0:
            raise RuntimeError(f"psql: {done.stderr.strip()}")
        return done.stdout

    def status(self, field):
        with open(f"/proc/{self.process.pid}/status") as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        return 0

    def resident_bytes(self):
        return self.status("VmRSS") * 1024

    def peak_resident_bytes(self):
        return self.status("VmHWM") * 1024

    def cpu_seconds(self):
        """User and system time of the process so far, its threads included."""
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def __exit__(self, *_):
        self.stop()


class Freshet(Server):
    def __init__(self, folder, arguments=None, name="freshet", data=None, extra=(), wrapper=()):
        super().__init__()
        self.binary = freshet_binary(arguments)
        self.data = data or os.path.join(folder, name + "-data")
        self.log_path = os.path.join(folder, name + ".log")
        self.extra = list(extra)
        self.wrapper = list(wrapper)
        self.start()

    def __enter__(self):
        return self

    def start(self, wait=30.0):
        """Starts it (again), on a port it picks, and waits until a session can be opened."""
        start = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        log = open(self.log_path, "ab")
        command = [*self.wrapper, self.binary, "serve", "--data-dir", self.data, "--listen",
                   f"127.0.0.1:{self.port or 0}", *self.extra]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
        # A crash leaves its core in the folder, which stays when the proof fails.
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                        cwd=os.path.dirname(self.log_path))
        log.close()
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"freshet ended with {self.process.returncode}: {self.log_tail(start)}")
            with open(self.log_path, "rb") as f:
                f.seek(start)
                found = re.search(rb"listening address=127\.0\.0\.1:(\d+)(.*ready for sessions)?", f.read(), re.S)
            if found:
                self.port = int(found.group(1))
                if found.group(2):
                    return self
            time.sleep(0.02)
        raise RuntimeError(f"freshet did not start within {wait} s: {self.log_tail(start)}")

    def log_tail(self, start=0, lines=8):
        with open(self.log_path, "rb") as f:
            f.seek(start)
            return "\n".join(f.read().decode(errors="replace").splitlines()[-lines:])

    def log_errors(self):
        """Lines that say that something of ours is broken."""
        with open(self.log_path, errors="replace") as f:
            return [line.strip() for line in f if re.search(r" (ERROR|FATAL) |assert", line)]

    def kill(self):
        """kill -9."""
        if self.alive():
            self.process.send_signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def stop(self, wait=20.0):
        """SIGTERM; returns the seconds it took, or None when it had to be killed."""
        if not self.alive():
            return None
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(wait)
            return time.monotonic() - began
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class Postgres(Server):
    """PostgreSQL 15 with byte order and UTF-8 character classes: what Freshet is compared with."""

    user = "postgres"
    database = "postgres"

    def __init__(self, folder, name="postgres", settings=()):
        super().__init__()
        self.folder = os.path.join(folder, name)
        self.port = free_port()
        self.settings = ["fsync=on", "shared_buffers=256MB", "work_mem=128MB", "max_connections=100",
                         "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}", *settings]
        self.bin = next(f"/usr/lib/postgresql/{v}/bin" for v in (15, 16, 17)
                        if os.path.exists(f"/usr/lib/postgresql/{v}/bin/initdb"))
        os.makedirs(self.folder, exist_ok=True)
        self.as_postgres = []
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.as_postgres = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        self.log_path = os.path.join(self.folder, "log")
        self.start()

    def __enter__(self):
        return self

    def start(self):
        data = os.path.join(self.folder, "data")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": self.folder}
        if not os.path.exists(data):
            subprocess.run([*self.as_postgres, f"{self.bin}/initdb", "-D", data, "--encoding=UTF8", "--lc-collate=C",
                            "--lc-ctype=C.UTF-8", "--auth=trust", "--username=postgres", "--no-sync"],
                           check=True, stdout=subprocess.DEVNULL, env=environment, cwd=self.folder)
        command = [*self.as_postgres, f"{self.bin}/postgres", "-D", data, "-p", str(self.port)]
        for setting in [*self.settings, "timezone=UTC"]:
            command += ["-c", setting]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=environment)
        for _ in range(300):
            if self.process.poll() is not None:
                raise RuntimeError("postgres ended: " + open(self.log_path).read()[-500:])
            try:
                self.connect(connect_timeout=5).close()
                return
            except psycopg2.OperationalError:
                time.sleep(0.05)
        raise RuntimeError("postgres did not start")

    def stop(self):
        if self.alive():
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)
