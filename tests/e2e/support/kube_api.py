# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server that does as it is told: lists and watches truly, refuses, hangs, cuts, forgets, is gone."""
import base64
import copy
import gzip
import itertools
import json
import re
import select
import socket
import threading
import time
import urllib.parse
from dataclasses import dataclass, field

from support import kube_select
from support.sink import Gone, Reader, listen, reset

TIMEOUT = 60.0
# plural: (path of its group, kind, has it namespaces)
KINDS = {"pods": ("/api/v1", "Pod", True), "namespaces": ("/api/v1", "Namespace", False), "nodes": ("/api/v1", "Node", False),
         "replicasets": ("/apis/apps/v1", "ReplicaSet", True), "deployments": ("/apis/apps/v1", "Deployment", True),
         "statefulsets": ("/apis/apps/v1", "StatefulSet", True), "daemonsets": ("/apis/apps/v1", "DaemonSet", True),
         "jobs": ("/apis/batch/v1", "Job", True)}
PLURALS = {kind: plural for plural, (_, kind, _) in KINDS.items()}
REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 406: "NotAcceptable", 410: "Expired",
           429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
GZIP_FROM = 128 << 10  # bytes of an answer, as in the real one


@dataclass
class Act:
    """What one request meets instead of the truth. Use the functions below to make one."""
    status: int = 0  # 0: the truth
    headers: dict = field(default_factory=dict)
    message: str = "told to answer so"
    body: bytes = None  # instead of a Status
    hold: bool = False  # no answer before release()
    cut: int = -1  # so many bytes of the answer's body, then a reset
    error: int = 0  # of a watch: an ERROR event with this code inside of a 200, then the end
    cut_event: bool = False  # of a watch: half of the next event, then a reset
    quiet: bool = False  # of a watch: a head and nothing after it, not even its own end


def status(code, message="told to answer so", **headers):
    """Header names are written with _ for -."""
    return Act(status=code, message=message, headers={k.replace("_", "-"): str(v) for k, v in headers.items()})


def garbage(body, **headers):
    return Act(status=200, body=body, headers=headers)


def hold():
    return Act(hold=True)


def cut(after=0):
    return Act(cut=after)


def error_event(code):
    return Act(error=code)


def cut_event():
    return Act(cut_event=True)


def quiet():
    return Act(quiet=True)


@dataclass
class Request:
    verb: str  # list, watch, get
    plural: str
    namespace: str
    name: str
    query: dict
    headers: dict  # names in lower case
    time: float  # time.monotonic() of arrival
    status: int = 0  # 0: none yet
    sent: int = 0  # bytes of the body
    path: str = ""

    def is_for(self, plural=None, verb=None):
        return (plural is None or self.plural == plural) and (verb is None or self.verb == verb)


@dataclass
class Event:
    version: int
    plural: str
    old: dict  # None: it was not there
    new: dict  # None: it is gone; then old is its last state, with the version of its end


class Refused(Exception):
    def __init__(self, code, message, **headers):
        super().__init__(message)
        self.code, self.headers = code, headers


def encode(value):
    return json.dumps(value, separators=(",", ":")).encode()


def status_object(code, message, **more):
    return {"kind": "Status", "apiVersion": "v1", "metadata": more, "status": "Failure", "message": message,
            "reason": REASONS.get(code, ""), "code": code}


class Objects:
    """What there is and what happened to it; guarded by the server's condition."""

    def __init__(self):
        self.version, self.compacted = 1000, 0
        self.now = {plural: {} for plural in KINDS}  # {(namespace, name): object}
        self.events = []
        self._encoded = {}  # (id of an object, how): (object, its JSON); encoded once

    def put(self, one):
        one = copy.deepcopy(one)
        plural, meta = PLURALS[one["kind"]], one["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        self.version += 1
        meta["resourceVersion"] = str(self.version)
        old, self.now[plural][key] = self.now[plural].get(key), one
        self.events.append(Event(self.version, plural, old, one))

    def delete(self, one):
        plural, meta = PLURALS[one["kind"]], one["metadata"]
        old = copy.deepcopy(self.now[plural].pop((meta.get("namespace", ""), meta["name"])))
        self.version += 1
        old["metadata"]["resourceVersion"] = str(self.version)
        self.events.append(Event(self.version, plural, old, None))

    def compact(self):
        """Whoever asks for a version before now hears 410."""
        self.version += 1
        self.compacted = self.version

    def after(self, version, plural):
        """The events of a kind after that version."""
        new = itertools.takewhile(lambda e: e.version > version, reversed(self.events))
        return [e for e in new if e.plural == plural][::-1]

    def encoded(self, one, partial, listed=False):
        """listed: as an item of a list, which says the kind for all; but metadata alone says it each time."""
        key = (id(one), partial, listed)
        if key not in self._encoded:
            part = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": one["metadata"]}
            whole = {k: v for k, v in one.items() if not listed or k not in ("kind", "apiVersion")}
            self._encoded[key] = (one, encode(part if partial else whole))
        return self._encoded[key][1]

    def chosen(self, plural, select):
        return sorted((item for item in self.now[plural].items() if select(item[1])), key=lambda item: item[0])


class Api:
    """with Api() as api: ... api.endpoint ...; everything is guarded by one condition.

    tls: an ssl.SSLContext to serve with. tokens: those that are let in; None: everybody is.
    """

    def __init__(self, tls=None, tokens=("first-token",)):
        self.tls, self.tokens = tls, tokens and set(tokens)
        self.changed = threading.Condition()
        self.objects = Objects()
        self.requests = []
        self.denied = set()  # {(plural, verb)}: 403
        self.acts = []  # [plural or None, verb or None, [Act, ...], the default Act or None]
        self.partial = True  # does it know PartialObjectMetadata?
        self.page_of_zero = False  # do lists at resourceVersion=0 come in pages? A real server's do not.
        self.watch_seconds = None  # a watch ends after so long, at most
        self.connections, self.wakers = set(), set()
        self.watching = []  # Requests of the watches that are open
        self.holding = 0
        self._released = self._bookmarks = self._ends = 0
        self._listener, self.port = None, 0
        self._listen()

    # -- what the test says --

    @property
    def endpoint(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def put(self, *objects):
        """They are there, as they are given, from now on."""
        self._change(lambda: [self.objects.put(one) for one in objects])

    def delete(self, *objects):
        self._change(lambda: [self.objects.delete(one) for one in objects])

    def compact(self):
        self._change(self.objects.compact)

    def script(self, *acts, plural=None, verb=None, then=None):
        """What the next requests of that kind meet, one each; then: all that follow."""
        self._change(lambda: self.acts.append([plural, verb, list(acts), then]))

    def behave(self):
        """The truth again."""
        self._change(self.acts.clear)

    def release(self):
        self._change(lambda: setattr(self, "_released", self._released + 1))

    def bookmark(self):
        """Every watch that allows it gets one now."""
        self._change(lambda: setattr(self, "_bookmarks", self._bookmarks + 1))

    def end_watches(self):
        """Every watch ends in good order."""
        self._change(lambda: setattr(self, "_ends", self._ends + 1))

    def refuse(self):
        """Nobody listens any more; open connections are reset."""
        listener, self._listener = self._listener, None
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut_connections()

    def accept_again(self):
        """Listens again, on the same port."""
        self._listen()

    def cut_connections(self):
        self._change(lambda: [reset(c) for c in self.connections])

    # -- what the test asks --

    def asked(self, plural=None, verb=None, since=0.0):
        """The requests of that kind that came."""
        with self.changed:
            return [r for r in self.requests if r.is_for(plural, verb) and r.time >= since]

    def wait(self, condition, what, timeout=TIMEOUT):
        """Blocks until condition() holds; it is asked again whenever something happened."""
        with self.changed:
            if self.changed.wait_for(condition, timeout):
                return
            asked = "\n".join(f"{r.time:.1f} {r.verb} {r.path} -> {r.status}" for r in self.requests[-20:])
            raise AssertionError(f"waited in vain for {what}; the last requests were:\n{asked}")

    def wait_asked(self, count, plural=None, verb=None, since=0.0):
        self.wait(lambda: len(self.asked(plural, verb, since)) >= count, f"{count} requests {verb} {plural}")

    def wait_watching(self, plural="pods", beside=()):
        """Blocks until a watch is open that is not one of those; the watch."""
        def found():
            return [w for w in self.watching if w.plural == plural and w.status == 200 and w not in beside]
        self.wait(found, f"a watch of {plural}")
        with self.changed:
            return found()[-1]

    def wait_holding(self, count=1):
        self.wait(lambda: self.holding >= count, f"{count} requests that are held")

    def wait_met(self):
        """Blocks until every act of the scripts was met by a request."""
        self.wait(lambda: not any(acts for _, _, acts, _ in self.acts), "whoever meets the rest of the script")

    def most_in(self, seconds, since=0.0):
        """The most requests that came in any so long time."""
        times = [r.time for r in self.asked(since=since)]
        return max((sum(t <= x < t + seconds for x in times) for t in times), default=0)

    # -- machinery --

    def _change(self, function):
        with self.changed:
            function()
            self._wake()

    def _wake(self):
        self.changed.notify_all()
        for waker in self.wakers:
            try:
                waker.send(b"x")
            except OSError:
                pass  # its buffer is full: it wakes anyway

    def _listen(self):
        self._listener = listen(self.port)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw):
        connection = raw
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection = self.tls.wrap_socket(raw, server_side=True)
            with self.changed:
                self.connections.add(connection)
            reader = Reader(connection)
            while self._one(connection, reader):
                pass
        except (Gone, OSError, ValueError):
            pass
        finally:
            with self.changed:
                self.connections.discard(connection)
                self._wake()
            connection.close()

    def _one(self, connection, reader):
        lines = reader.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        reader.body(headers)
        request = _request(target, headers)
        with self.changed:
            act = self._act(request)
            self.requests.append(request)
            self._wake()
        if act.hold and not self._held(connection):
            return False
        answer = Answer(self, connection, request, act)
        try:
            if method != "GET":
                raise Refused(405, f"{method} is not what a watcher does")
            self._answer(answer)
        except Refused as e:
            answer.whole(e.code, encode(status_object(e.code, str(e))), e.headers)
        return headers.get("connection", "").lower() != "close"

    def _act(self, request):
        for row in self.acts:
            plural, verb, acts, then = row
            if request.is_for(plural, verb) and (acts or then):
                return acts.pop(0) if acts else then
        return Act()

    def _held(self, connection):
        """False: the peer did not wait for it."""
        with self.changed:
            seen = self._released
            self.holding += 1
            self._wake()
        try:
            return self.await_or_gone(connection, lambda: self._released > seen)
        finally:
            with self.changed:
                self.holding -= 1
                self._wake()

    def await_or_gone(self, connection, condition, until=None):
        """True once condition() holds (asked with the lock) or the time is over; false once the peer is gone."""
        mine, waker = socket.socketpair()
        waker.setblocking(False)
        with self.changed:
            self.wakers.add(waker)
        try:
            while True:
                with self.changed:
                    if condition():
                        return True
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return True
                ready, _, _ = select.select([connection, mine], [], [], left)
                if connection in ready:  # nobody sends a request before the answer to the last
                    return False
                if mine in ready:
                    mine.recv(4096)
        finally:
            with self.changed:
                self.wakers.discard(waker)
            mine.close()
            waker.close()

    def _answer(self, answer):
        act, request = answer.act, answer.request
        if act.status:
            body = encode(status_object(act.status, act.message)) if act.body is None else act.body
            answer.whole(act.status, body, act.headers)
            return
        self._let_in(request)
        if request.plural not in KINDS:
            raise Refused(404, "the server could not find the requested resource")
        if (request.plural, request.verb) in self.denied:
            raise Refused(403, _forbidden(request))
        {"list": self._list, "watch": self._watch, "get": self._get}[request.verb](answer)

    def _let_in(self, request):
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if self.tokens is not None and (scheme.lower() != "bearer" or token not in self.tokens):
            raise Refused(401, "Unauthorized")

    def _is_partial(self, request):
        """Whether the first of the types that the peer takes is one of metadata alone."""
        for one in request.headers.get("accept", "*/*").split(","):
            found = re.search(r"\bas=(PartialObjectMetadata(?:List)?)\b", one)
            if found and self.partial:
                if (found[1] == "PartialObjectMetadata") == (request.verb == "list"):
                    raise Refused(406, f"you requested {found[1]}, but the requested object is another")
                return True
            if not found and one.split(";")[0].strip() in ("application/json", "*/*", "application/*"):
                return False
        raise Refused(406, "only the following media types are accepted: application/json")

    def _get(self, answer):
        r = answer.request
        partial = self._is_partial(r)
        with self.changed:
            one = self.objects.now[r.plural].get((r.namespace, r.name))
            body = one and self.objects.encoded(one, partial)
        if not body:
            raise Refused(404, f'{r.plural} "{r.name}" not found')
        answer.whole(200, body)

    def _list(self, answer):
        r, partial = answer.request, self._is_partial(answer.request)
        select_one = kube_select.selector(r.namespace, r.query)
        limit = int(r.query.get("limit", "0"))
        if r.query.get("resourceVersion") == "0" and not self.page_of_zero:
            limit = 0
        with self.changed:
            version, after = self._start_of_page(r)
            items = self.objects.chosen(r.plural, select_one)
            items = [item for item in items if after is None or list(item[0]) > after]
            meta = {"resourceVersion": str(version)}
            if limit and len(items) > limit:
                meta.update(remainingItemCount=len(items) - limit)
                meta["continue"] = _token(version, items[limit - 1][0])
                items = items[:limit]
            bodies = [self.objects.encoded(one, partial, listed=True) for _, one in items]
        kind = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"} if partial else {
            "kind": KINDS[r.plural][1] + "List", "apiVersion": KINDS[r.plural][0].removeprefix("/apis/").removeprefix("/api/")}
        head = encode({**kind, "metadata": meta})[:-1] + b',"items":['
        answer.whole(200, head + b",".join(bodies) + b"]}\n")

    def _start_of_page(self, request):
        """(resource version of the list, the last key of the page before)"""
        if "continue" not in request.query:
            version = request.query.get("resourceVersion", "0")
            if request.query.get("resourceVersionMatch") == "Exact" and int(version) < self.objects.compacted:
                raise Refused(410, f"The resourceVersion for the provided list is too old: {version}")
            return self.objects.version, None
        version, *after = json.loads(base64.b64decode(request.query["continue"]))
        if version < self.objects.compacted:
            raise Refused(410, "The provided continue parameter is too old to display a consistent list result.")
        return version, after

    def _watch(self, answer):
        r, partial = answer.request, self._is_partial(answer.request)
        with self.changed:
            self.watching.append(r)
            watch = Watch(self, r, partial)
            self._wake()
        try:
            watch.run(answer)
        finally:
            with self.changed:
                self.watching.remove(r)
                self._wake()

    def close(self):
        self.refuse()
        self.release()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Watch:
    """One watch on its connection."""

    def __init__(self, api, request, partial):
        self.api, self.request, self.partial = api, request, partial
        self.select = kube_select.selector(request.namespace, request.query)
        self.at = int(request.query.get("resourceVersion") or api.objects.version)
        self.bookmarks, self.ends = api._bookmarks, api._ends
        asked = float(request.query.get("timeoutSeconds", "1800"))
        self.until = time.monotonic() + min(asked, api.watch_seconds or asked)

    def run(self, answer):
        api, act, objects = self.api, answer.act, self.api.objects
        answer.begin()
        if act.quiet:
            api.await_or_gone(answer.connection, lambda: False)
            raise Gone
        if act.error or self.at < objects.compacted:
            code = act.error or 410
            message = f"too old resource version: {self.at} ({objects.compacted})" if code == 410 else act.message
            answer.chunk(self._line("ERROR", encode(status_object(code, message))))
            answer.end()
            return
        while api.await_or_gone(answer.connection, self._has_news, self.until):
            with api.changed:
                lines, over = self._news(), self.ends < api._ends or time.monotonic() >= self.until
            for line in lines:
                if act.cut_event:
                    answer.chunk(line[:len(line) // 2])
                    reset(answer.connection)
                    raise Gone
                answer.chunk(line)
            if over:
                answer.end()
                return
        raise Gone

    def _has_news(self):
        api = self.api
        return self.ends < api._ends or self.bookmarks < api._bookmarks or api.objects.after(self.at, self.request.plural)

    def _line(self, kind, body):
        return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"

    def _news(self):
        objects, lines = self.api.objects, []
        for e in objects.after(self.at, self.request.plural):
            was, is_now = e.old is not None and self.select(e.old), e.new is not None and self.select(e.new)
            kind = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}.get((was, is_now))
            if kind:
                lines.append(self._line(kind, objects.encoded(e.new or e.old, self.partial)))
        self.at = max(objects.version, self.at)
        if self.bookmarks < self.api._bookmarks:
            self.bookmarks = self.api._bookmarks
            if self.request.query.get("allowWatchBookmarks", "").lower() in ("true", "1"):
                lines.append(self._line("BOOKMARK", encode(self._bookmark())))
        return lines

    def _bookmark(self):
        path, kind, _ = KINDS[self.request.plural]
        what = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"} if self.partial else {
            "kind": kind, "apiVersion": path.removeprefix("/apis/").removeprefix("/api/")}
        return {**what, "metadata": {"resourceVersion": str(self.at), "creationTimestamp": None}}


class Answer:
    """What goes back for one request, cut where the act says."""

    def __init__(self, api, connection, request, act):
        self.api, self.connection, self.request, self.act = api, connection, request, act

    def _note(self, code):
        with self.api.changed:
            self.request.status = code
            self.api._wake()

    def whole(self, code, body, headers=()):
        headers = {"Content-Type": "application/json", **dict(headers)}
        if len(body) > GZIP_FROM and "gzip" in self.request.headers.get("accept-encoding", ""):
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        self._note(code)
        self.request.sent = len(body)
        head = f"HTTP/1.1 {code} Told\r\nContent-Length: {len(body)}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
        if self.act.cut >= 0:
            self.connection.sendall(head.encode() + body[:self.act.cut])
            reset(self.connection)
            raise Gone
        self.connection.sendall(head.encode() + body)

    def begin(self):
        self.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        self._note(200)

    def chunk(self, data):
        self.request.sent += len(data)
        self.connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self):
        self.connection.sendall(b"0\r\n\r\n")


def _request(target, headers):
    """A Request of /api/v1/..., /apis/GROUP/VERSION/..."""
    url = urllib.parse.urlsplit(target)
    query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
    parts = url.path.strip("/").split("/")
    group = "/" + "/".join(parts[:2 if parts[0] == "api" else 3])
    parts = parts[2 if parts[0] == "api" else 3:]
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces":
        namespace, parts = parts[1], parts[2:]
    plural, name = parts[0] if parts else "", parts[1] if len(parts) > 1 else ""
    if KINDS.get(plural, ("",))[0] != group:
        plural = ""
    if name and plural == "namespaces":
        namespace = ""
    watches = query.get("watch", "").lower() in ("true", "1")
    verb = "get" if name else "watch" if watches else "list"
    return Request(verb, plural, namespace, name, query, headers, time.monotonic(), path=target)


def _forbidden(r):
    group = KINDS[r.plural][0].removeprefix("/apis/").removesuffix("/v1") if KINDS[r.plural][0] != "/api/v1" else ""
    where = f'in the namespace "{r.namespace}"' if r.namespace else "at the cluster scope"
    return (f'{r.plural} is forbidden: User "system:serviceaccount:monitoring:profrelay" cannot {r.verb} resource "{r.plural}" '
            f'in API group "{group}" {where}')


def _token(version, key):
    return base64.b64encode(json.dumps([version, *key]).encode()).decode()
