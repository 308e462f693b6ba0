# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL's wire protocol, spoken by hand: raw texts, type oids, SQLSTATEs, and room for misbehaviour.

    wire = Wire(port)
    answer = wire.query("SELECT 1/0")
    answer.error["C"]  # 22012
"""
import socket
import struct


class Gone(Exception):
    """The server closed the connection, or stayed silent too long."""


class Answer:
    """What came back for one simple query, up to ReadyForQuery."""

    def __init__(self):
        self.columns = []  # (name, type oid) of the last result
        self.rows = []  # of the last result: lists of str or None
        self.tags = []
        self.error = None  # the fields by their letter: C is the SQLSTATE, M the message
        self.notices = []
        self.copied = b""
        self.status = None
        self.results = 0


class Wire:
    def __init__(self, port, user="materialize", database="materialize", timeout=60.0, startup=True, host="127.0.0.1"):
        try:
            self.socket = socket.create_connection((host, port), timeout)
        except OSError as error:
            raise Gone(str(error)) from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.parameters = {}
        self.key = None
        if startup:
            self.startup(user=user, database=database)

    def startup(self, **parameters):
        body = struct.pack("!i", 196608)
        for name, value in parameters.items():
            body += name.encode() + b"\0" + value.encode() + b"\0"
        body += b"\0"
        self.send_raw(struct.pack("!i", len(body) + 4) + body)
        while True:
            kind, body = self.receive()
            if kind == b"E":
                raise Gone(f"startup refused: {fields(body)}")
            if kind == b"S":
                name, value = body.split(b"\0")[:2]
                self.parameters[name.decode()] = value.decode()
            elif kind == b"K":
                self.key = struct.unpack("!ii", body)
            elif kind == b"Z":
                return

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Gone(str(error)) from error

    def send(self, kind, body=b""):
        self.send_raw(kind + struct.pack("!i", len(body) + 4) + body)

    def receive_exactly(self, size):
        while len(self.buffer) < size:
            try:
                more = self.socket.recv(1 << 16)
            except OSError as error:
                raise Gone(str(error)) from error
            if not more:
                raise Gone("the server closed the connection")
            self.buffer += more
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def receive(self):
        """One message: (type, body)."""
        header = self.receive_exactly(5)
        return header[:1], self.receive_exactly(struct.unpack("!i", header[1:])[0] - 4)

    def query(self, sql, copy_data=None):
        self.send(b"Q", sql.encode() + b"\0")
        return self.answer(copy_data)

    def answer(self, copy_data=None):
        """Reads messages up to ReadyForQuery; feeds `copy_data` when asked for it."""
        answer = Answer()
        while True:
            kind, body = self.receive()
            if kind == b"Z":
                answer.status = body.decode()
                return answer
            if kind == b"T":
                answer.columns, answer.rows = row_description(body), []
                answer.results += 1
            elif kind == b"D":
                answer.rows.append(data_row(body))
            elif kind == b"C":
                answer.tags.append(body[:-1].decode())
            elif kind == b"E":
                answer.error = fields(body)
                if answer.error.get("S") == "FATAL":
                    return answer
            elif kind == b"N":
                answer.notices.append(fields(body))
            elif kind == b"d":
                answer.copied += body
            elif kind == b"G":
                if copy_data is None:
                    self.send(b"f", b"no data\0")
                else:
                    # One text is cut into messages; a list is sent as it is cut.
                    for part in copy_data if isinstance(copy_data, list) else chunks(copy_data):
                        self.send(b"d", part)
                    self.send(b"c")

    # ---- Extended protocol.

    def parse(self, name, sql, oids=()):
        self.send(b"P", name.encode() + b"\0" + sql.encode() + b"\0" + struct.pack(f"!h{len(oids)}i", len(oids), *oids))

    def bind(self, portal, statement, values=(), formats=(), result_formats=()):
        body = portal.encode() + b"\0" + statement.encode() + b"\0"
        body += struct.pack(f"!h{len(formats)}h", len(formats), *formats) + struct.pack("!h", len(values))
        for value in values:
            if value is None:
                body += struct.pack("!i", -1)
            else:
                value = value if isinstance(value, bytes) else str(value).encode()
                body += struct.pack("!i", len(value)) + value
        body += struct.pack(f"!h{len(result_formats)}h", len(result_formats), *result_formats)
        self.send(b"B", body)

    def execute(self, portal="", most=0):
        self.send(b"E", portal.encode() + b"\0" + struct.pack("!i", most))

    def describe(self, kind, name):
        self.send(b"D", kind + name.encode() + b"\0")

    def sync(self):
        self.send(b"S")

    def close(self, politely=True):
        if politely:
            try:
                self.send(b"X")
            except Gone:
                pass
        self.socket.close()


def chunks(data, size=1 << 15):
    return [data[start:start + size] for start in range(0, len(data), size)]


def fields(body):
    return {part[:1].decode(): part[1:].decode(errors="replace") for part in body.split(b"\0") if part}


def row_description(body):
    count, position, columns = struct.unpack("!h", body[:2])[0], 2, []
    for _ in range(count):
        end = body.index(b"\0", position)
        name = body[position:end].decode()
        oid = struct.unpack("!i", body[end + 7:end + 11])[0]
        columns.append((name, oid))
        position = end + 19
    return columns


def data_row(body):
    count, position, values = struct.unpack("!h", body[:2])[0], 2, []
    for _ in range(count):
        size = struct.unpack("!i", body[position:position + 4])[0]
        position += 4
        if size < 0:
            values.append(None)
        else:
            values.append(body[position:position + size].decode(errors="surrogateescape"))
            position += size
    return values
