# SPDX-License-Identifier: Apache-2.0
"""ZooKeeper's client protocol on a plain socket: records as tables, and a blocking connection.

Nothing here checks what is sent: the tests that use it also have to send what no client library
would. Records are dicts. A string is given as str, or as bytes when it shall not be valid UTF-8;
strings received are decoded with surrogateescape, so two answers are equal exactly when their bytes
are.
"""
import contextlib
import hashlib
import base64
import socket
import struct
from collections import deque

# -- opcodes ------------------------------------------------------------------------------------

CREATE, DELETE, EXISTS, GET_DATA, SET_DATA, GET_ACL, SET_ACL = 1, 2, 3, 4, 5, 6, 7
GET_CHILDREN, SYNC, PING, GET_CHILDREN2, CHECK, MULTI, CREATE2 = 8, 9, 11, 12, 13, 14, 15
RECONFIG, CHECK_WATCHES, REMOVE_WATCHES, CREATE_CONTAINER = 16, 17, 18, 19
DELETE_CONTAINER, CREATE_TTL, MULTI_READ = 20, 21, 22
AUTH, SET_WATCHES, SASL, GET_EPHEMERALS, GET_ALL_CHILDREN_NUMBER = 100, 101, 102, 103, 104
SET_WATCHES2, ADD_WATCH, WHO_AM_I, CREATE_SESSION, CLOSE_SESSION = 105, 106, 107, -10, -11
ERROR = -1

XID_EVENT, XID_PING, XID_AUTH, XID_SET_WATCHES = -1, -2, -4, -8

OK, MARSHALLING, UNIMPLEMENTED, BAD_ARGUMENTS = 0, -5, -6, -8
NO_NODE, NO_AUTH, BAD_VERSION, AUTH_FAILED, NO_WATCHER = -101, -102, -103, -115, -121

# -- records: name -> fields in wire order --------------------------------------------------------

RECORDS = {
    "Id": "str scheme, str id",
    "ACL": "int perms, Id id",
    "Stat": "long czxid, long mzxid, long ctime, long mtime, int version, int cversion,"
            " int aversion, long ephemeralOwner, int dataLength, int numChildren, long pzxid",
    "ClientInfo": "str authScheme, str user",
    "ConnectRequest": "int protocolVersion, long lastZxidSeen, int timeOut, long sessionId,"
                      " buf passwd",
    "ConnectResponse": "int protocolVersion, int timeOut, long sessionId, buf passwd",
    "RequestHeader": "int xid, int type",
    "ReplyHeader": "int xid, long zxid, int err",
    "MultiHeader": "int type, bool done, int err",
    "WatcherEvent": "int type, int state, str path",
    "Create": "str path, buf data, vec:ACL acl, int flags",
    "CreateTTL": "str path, buf data, vec:ACL acl, int flags, long ttl",
    "PathVersion": "str path, int version",
    "PathWatch": "str path, bool watch",
    "SetData": "str path, buf data, int version",
    "Path": "str path",
    "SetACL": "str path, vec:ACL acl, int version",
    "Reconfig": "str joining, str leaving, str members, long curConfigId",
    "PathType": "str path, int type",
    "PathMode": "str path, int mode",
    "SetWatches": "long relativeZxid, vec:str data, vec:str exist, vec:str child",
    "SetWatches2": "long relativeZxid, vec:str data, vec:str exist, vec:str child,"
                   " vec:str persistent, vec:str recursive",
    "Auth": "int type, str scheme, buf auth",
    "Token": "buf token",
    "Int": "int value",
    "Nothing": "",
    "PathStat": "str path, Stat stat",
    "JustStat": "Stat stat",
    "DataStat": "buf data, Stat stat",
    "AclStat": "vec:ACL acl, Stat stat",
    "Children": "vec:str children",
    "ChildrenStat": "vec:str children, Stat stat",
    "Ephemerals": "vec:str ephemerals",
    "Clients": "vec:ClientInfo clients",
}
RECORDS = {name: [tuple(field.split()) for field in fields.split(",") if field.strip()]
           for name, fields in RECORDS.items()}

# opcode -> (name, request record, response record). "Multi" is not a record but a sequence.
OPS = {
    CREATE: ("create", "Create", "Path"),
    DELETE: ("delete", "PathVersion", "Nothing"),
    EXISTS: ("exists", "PathWatch", "JustStat"),
    GET_DATA: ("getData", "PathWatch", "DataStat"),
    SET_DATA: ("setData", "SetData", "JustStat"),
    GET_ACL: ("getACL", "Path", "AclStat"),
    SET_ACL: ("setACL", "SetACL", "JustStat"),
    GET_CHILDREN: ("getChildren", "PathWatch", "Children"),
    SYNC: ("sync", "Path", "Path"),
    PING: ("ping", "Nothing", "Nothing"),
    GET_CHILDREN2: ("getChildren2", "PathWatch", "ChildrenStat"),
    CHECK: ("check", "PathVersion", "Nothing"),
    MULTI: ("multi", "Multi", "Multi"),
    CREATE2: ("create2", "Create", "PathStat"),
    RECONFIG: ("reconfig", "Reconfig", "DataStat"),
    CHECK_WATCHES: ("checkWatches", "PathType", "Nothing"),
    REMOVE_WATCHES: ("removeWatches", "PathType", "Nothing"),
    CREATE_CONTAINER: ("createContainer", "Create", "PathStat"),
    DELETE_CONTAINER: ("deleteContainer", "Token", "Nothing"),
    CREATE_TTL: ("createTTL", "CreateTTL", "PathStat"),
    MULTI_READ: ("multiRead", "Multi", "Multi"),
    AUTH: ("auth", "Auth", "Nothing"),
    SET_WATCHES: ("setWatches", "SetWatches", "Nothing"),
    SASL: ("sasl", "Token", "Token"),
    GET_EPHEMERALS: ("getEphemerals", "Path", "Ephemerals"),
    GET_ALL_CHILDREN_NUMBER: ("getAllChildrenNumber", "Path", "Int"),
    SET_WATCHES2: ("setWatches2", "SetWatches2", "Nothing"),
    ADD_WATCH: ("addWatch", "PathMode", "Int"),
    WHO_AM_I: ("whoAmI", "Nothing", "Clients"),
    CREATE_SESSION: ("createSession", "Int", "Nothing"),
    CLOSE_SESSION: ("closeSession", "Nothing", "Nothing"),
}

# What follows a MultiHeader of this type in an answer; the same table serves multi and multiRead.
MULTI_RESULTS = {ERROR: "Int", CREATE: "Path", CREATE2: "PathStat", DELETE: "Nothing",
                 SET_DATA: "JustStat", CHECK: "Nothing", GET_CHILDREN: "Children",
                 GET_DATA: "DataStat"}

WORLD_ALL = [{"perms": 31, "id": {"scheme": "world", "id": "anyone"}}]


def op_name(op):
    return OPS[op][0] if op in OPS else "opcode %d" % op


def acl(perms, scheme, id):
    return {"perms": perms, "id": {"scheme": scheme, "id": id}}


def digest_id(credentials):
    """The ACL id that `user:password` authenticates."""
    raw = credentials.encode()
    user = credentials.split(":", 1)[0]
    return user + ":" + base64.b64encode(hashlib.sha1(raw).digest()).decode()


# -- encoding -------------------------------------------------------------------------------------

def enc_buf(value):
    if value is None:
        return b"\xff\xff\xff\xff"
    return struct.pack(">i", len(value)) + value


def enc_str(value):
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    return enc_buf(value)


def enc_value(kind, value):
    if kind == "int":
        return struct.pack(">i", value)
    if kind == "long":
        return struct.pack(">q", value)
    if kind == "bool":
        return b"\x01" if value else b"\x00"
    if kind == "buf":
        return enc_buf(value)
    if kind == "str":
        return enc_str(value)
    if kind.startswith("vec:"):
        if value is None:
            return b"\xff\xff\xff\xff"
        items = b"".join(enc_value(kind[4:], item) for item in value)
        return struct.pack(">i", len(value)) + items
    return enc_record(kind, value)


def enc_record(name, values):
    return b"".join(enc_value(kind, values[field]) for kind, field in RECORDS[name])


def enc_multi(ops):
    """`ops`: pairs (opcode, fields)."""
    out = []
    for op, fields in ops:
        out.append(struct.pack(">ibi", op, 0, -1))
        out.append(enc_record(OPS[op][1], fields))
    out.append(struct.pack(">ibi", -1, 1, -1))
    return b"".join(out)


def enc_body(op, fields):
    if op not in OPS:
        return b""
    if OPS[op][1] == "Multi":
        return enc_multi(fields["ops"])
    return enc_record(OPS[op][1], fields)


def enc_request(xid, op, fields=None, body=None):
    """A whole request frame; `body` replaces the encoded fields."""
    payload = struct.pack(">ii", xid, op) + (enc_body(op, fields) if body is None else body)
    return frame(payload)


def frame(payload):
    return struct.pack(">i", len(payload)) + payload


# -- decoding -------------------------------------------------------------------------------------

class Malformed(Exception):
    """The server sent something that is not what the protocol says."""


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        if n < 0 or n > self.left():
            raise Malformed("%d bytes wanted, %d left" % (n, self.left()))
        part = self.data[self.at:self.at + n]
        self.at += n
        return part

    def value(self, kind):
        if kind == "int":
            return struct.unpack(">i", self.take(4))[0]
        if kind == "long":
            return struct.unpack(">q", self.take(8))[0]
        if kind == "bool":
            return self.take(1) != b"\x00"
        if kind == "buf":
            n = self.value("int")
            return None if n == -1 else self.take(n)
        if kind == "str":
            raw = self.value("buf")
            return None if raw is None else raw.decode("utf-8", "surrogateescape")
        if kind.startswith("vec:"):
            n = self.value("int")
            if n == -1:
                return None
            if n < 0 or n > self.left():
                raise Malformed("vector of %d" % n)
            return [self.value(kind[4:]) for _ in range(n)]
        return self.record(kind)

    def record(self, name):
        return {field: self.value(kind) for kind, field in RECORDS[name]}

    def multi(self):
        results = []
        while True:
            header = self.record("MultiHeader")
            if header["done"]:
                return {"results": results, "end": (header["type"], header["err"])}
            if header["type"] not in MULTI_RESULTS:
                raise Malformed("multi result of type %d" % header["type"])
            body = self.record(MULTI_RESULTS[header["type"]])
            results.append({"type": header["type"], "err": header["err"], "body": body})


class Reply:
    """An answer: header fields, and `body` as a dict (None when there is none)."""

    def __init__(self, xid, zxid, err, body, op):
        self.xid, self.zxid, self.err, self.body, self.op = xid, zxid, err, body, op

    def __repr__(self):
        return "Reply(%s xid=%d zxid=%d err=%d %r)" % (
            op_name(self.op), self.xid, self.zxid, self.err, self.body)


class Event:
    def __init__(self, zxid, type, state, path):
        self.zxid, self.type, self.state, self.path = zxid, type, state, path

    def __repr__(self):
        return "Event(type=%d state=%d path=%r zxid=%d)" % (
            self.type, self.state, self.path, self.zxid)


def dec_reply_body(op, reader):
    kind = OPS[op][2] if op in OPS else "Nothing"
    body = reader.multi() if kind == "Multi" else reader.record(kind)
    if reader.left():
        raise Malformed("%d bytes behind the answer to %s" % (reader.left(), op_name(op)))
    return body or None


# -- a connection ---------------------------------------------------------------------------------

END_SECONDS = 10.0


class Closed(Exception):
    """The server closed the connection (FIN or RST)."""


class Timeout(Exception):
    """Nothing came in time."""


class Conn:
    """One TCP connection. Requests are answered in order, so the oldest one outstanding tells how
    to decode an answer; auth, sasl and ping are matched by their xid, as clients do."""

    def __init__(self, port, timeout=60.0, rcvbuf=None):
        self.sock = self.open_socket(port, timeout, rcvbuf)
        self.timeout = timeout
        self.buffer = b""
        self.held = None
        self.pending = deque()
        self.out_of_order = {}
        self.next_xid = 1
        self.session_id = 0
        self.passwd = b""
        self.last_zxid = 0

    def open_socket(self, port, timeout, rcvbuf):
        sock = socket.socket()
        if rcvbuf is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        sock.settimeout(timeout)
        sock.connect((getattr(port, "host", "127.0.0.1"), int(port)))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    # -- bytes --

    @contextlib.contextmanager
    def one_write(self):
        """What is sent inside leaves together at its end: nothing can come between."""
        self.held = b""
        try:
            yield self
        finally:
            data, self.held = self.held, None
        self.send_raw(data)

    def send_raw(self, data):
        if self.held is not None:
            self.held += data
            return
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed() from None

    def fill(self):
        try:
            part = self.sock.recv(262144)
        except socket.timeout:
            raise Timeout() from None
        except ConnectionError:
            raise Closed() from None
        if not part:
            raise Closed()
        self.buffer += part

    def recv_exact(self, n):
        while len(self.buffer) < n:
            self.fill()
        part, self.buffer = self.buffer[:n], self.buffer[n:]
        return part

    def recv_frame(self):
        n = struct.unpack(">i", self.recv_exact(4))[0]
        if n < 0 or n > 64 << 20:
            raise Malformed("frame of %d bytes" % n)
        return self.recv_exact(n)

    def set_timeout(self, seconds):
        self.timeout = seconds
        self.sock.settimeout(seconds)

    def wait_closed(self):
        """Reads until the server closes; what still came is returned as bytes."""
        try:
            while True:
                self.fill()
        except Closed:
            rest, self.buffer = self.buffer, b""
            return rest

    def close(self):
        self.sock.close()

    def end_session(self):
        """For who is done, and judges nobody by it: Apache's server leaves a client of its own without an answer
        now and then (3.8.0: the transaction is in all logs and committed)."""
        try:
            self.set_timeout(END_SECONDS)
            self.call(CLOSE_SESSION, {})
        except (Closed, Timeout):
            pass
        self.close()

    # -- handshake --

    def handshake(self, timeout_ms=30000, session_id=0, passwd=bytes(16), last_zxid=0,
                  read_only=False, version=0):
        """Sends a ConnectRequest and returns the ConnectResponse as a dict. `read_only` None leaves
        the byte out, as clients before 3.4 do."""
        self.send_connect(timeout_ms, session_id, passwd, last_zxid, read_only, version)
        return self.recv_connect()

    def send_connect(self, timeout_ms=30000, session_id=0, passwd=bytes(16), last_zxid=0,
                     read_only=False, version=0):
        body = enc_record("ConnectRequest", {
            "protocolVersion": version, "lastZxidSeen": last_zxid, "timeOut": timeout_ms,
            "sessionId": session_id, "passwd": passwd})
        if read_only is not None:
            body += b"\x01" if read_only else b"\x00"
        self.send_raw(frame(body))

    def recv_connect(self):
        data = self.recv_frame()
        reader = Reader(data)
        answer = reader.record("ConnectResponse")
        answer["readOnly"] = reader.value("bool") if reader.left() else None
        answer["length"] = len(data)
        self.session_id = answer["sessionId"]
        self.passwd = answer["passwd"]
        return answer

    # -- requests --

    def send(self, op, fields=None, xid=None, body=None):
        """Sends one request without waiting; returns its xid."""
        if xid is None:
            xid = self.take_xid(op)
        self.expect(xid, op)
        self.send_raw(enc_request(xid, op, fields, body))
        return xid

    def take_xid(self, op):
        if op == PING:
            return XID_PING
        if op == AUTH:
            return XID_AUTH
        self.next_xid += 1
        return self.next_xid - 1

    def expect(self, xid, op):
        if op in (AUTH, SASL):
            self.out_of_order[xid] = op
        else:
            self.pending.append((XID_PING if op == PING else xid, op))

    def recv(self):
        """The next answer or event."""
        data = self.recv_frame()
        reader = Reader(data)
        header = reader.record("ReplyHeader")
        if header["xid"] == XID_EVENT:
            return self.decode_event(header, reader)
        op = self.op_of(header["xid"])
        body = None
        if header["err"] == 0:  # else: bytes behind the header have no meaning (Java sends some)
            body = dec_reply_body(op, reader)
        if header["zxid"] > 0:
            self.last_zxid = header["zxid"]
        return Reply(header["xid"], header["zxid"], header["err"], body, op)

    def decode_event(self, header, reader):
        event = reader.record("WatcherEvent")
        if reader.left() or header["err"] != 0:
            raise Malformed("odd event %r %r" % (header, event))
        return Event(header["zxid"], event["type"], event["state"], event["path"])

    def op_of(self, xid):
        if xid in self.out_of_order:
            return self.out_of_order.pop(xid)
        if not self.pending:
            raise Malformed("answer with xid %d, nothing was asked" % xid)
        expected, op = self.pending.popleft()
        if expected != xid:
            raise Malformed("answer with xid %d where %d (%s) was due" % (xid, expected,
                                                                         op_name(op)))
        return op

    def call(self, op, fields=None, xid=None, body=None):
        """Sends a request, returns (reply, events that came before it)."""
        self.send(op, fields, xid, body)
        events = []
        while True:
            message = self.recv()
            if isinstance(message, Reply):
                return message, events
            events.append(message)
