# SPDX-License-Identifier: Apache-2.0
"""Credentials on both sides: bearertokenauth, basicauth and headers_setter through the product, judged by clients and
servers that are not ours."""
import base64
import http.client
import json
import os
import re
import subprocess

from support import otlp
from support.grpc_raw import Connection, message
from support.process import Relay, config, run
from support.setup import add, file_receiver, otlp_exporter
from support.sink import Sink, status

PATH = "/v1development/profiles"
PROTO, JSON = {"Content-Type": "application/x-protobuf"}, {"Content-Type": "application/json"}
GRPC_PATH = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
REFUSED = "profrelay_receiver_unauthenticated_requests"


def write(path, text):
    """As those do that rotate secrets: a new file, then its name."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)
    return path


def port(relay, protocol="HTTP"):
    return int(re.search(r"port (\d+)", relay.wait_line(f"OTLP/{protocol} at .*port"))[1])


def receiver(authenticator, **http):
    auth = {"endpoint": "127.0.0.1:0", "auth": {"authenticator": authenticator}}
    return {"otlp": {"protocols": {"grpc": auth, "http": {**auth, **http}}}}


def server(extension, settings, sink, **http):
    return config(extensions={extension: settings}, receivers=receiver(extension, **http),
                  exporters={"otlp_http": otlp_exporter(sink)},
                  service={"extensions": [extension],
                           "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_http"]}}})


def post(relay, headers, body=b"", content=None, method="POST"):
    """(status, headers, body); headers: pairs, a name may occur twice."""
    connection = http.client.HTTPConnection("127.0.0.1", port(relay), timeout=60)
    connection.putrequest(method, PATH)
    for name, value in [*(content or PROTO).items(), ("Content-Length", str(len(body))), *headers]:
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, answer.headers, data


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def grpc(relay, *headers):
    """Whether an empty request is taken: that is answered with a message, a refusal with trailers alone."""
    connection = Connection(port(relay, "gRPC"))
    call = connection.call(GRPC_PATH, message(), headers=[(k.lower(), v) for k, v in headers])
    connection.read_until(lambda c: call in c.ended)
    connection.close()
    assert connection.data[call] in (b"", message()), connection.data
    return connection.data[call] == message()


def test_a_token_in_each_way_that_clients_send_it(folder):
    write(folder / "tokens", "one-token  the agents' own\n\nother-token of the gateway\n")
    settings = {"header": "x-status200-token", "scheme": "", "filename": str(folder / "tokens")}
    with Sink() as sink, Relay(server("bearertokenauth", settings, sink), folder) as relay:
        good = [[("x-status200-token", "one-token")], [("X-Status200-Token", "other-token")],
                [("Authorization", "Bearer one-token")], [("Authorization", "bearer other-token")],
                [("Authorization", basic("anybody", "one-token"))], [("Authorization", basic("", "one-token"))],
                [("Authorization", "Bearer wrong"), ("Authorization", "Bearer one-token")],
                [("x-status200-token", "wrong"), ("Authorization", basic("x", "one-token"))]]
        bad = [[], [("x-status200-token", "")], [("x-status200-token", "one")], [("x-status200-token", "one-token ofthe")],
               [("Authorization", "one-token")], [("Authorization", "Bearer")], [("Authorization", basic("one-token", ""))],
               [("Authorization", "Basic %%%")], [("x-status200-token", "#")], [("x-other", "one-token")]]
        for headers in good:
            code, _, body = post(relay, headers)
            assert code == 200, (headers, code, body)
            assert grpc(relay, *headers), headers
        for headers in bad:
            code, answer, body = post(relay, headers)
            assert code == 401 and answer["WWW-Authenticate"].startswith("Bearer"), (headers, code, body)
            assert answer["Content-Type"] == "application/x-protobuf" and body[:2] == b"\x08\x10", (headers, body)
            assert not grpc(relay, *headers), headers
        code, _, body = post(relay, [], content=JSON)
        assert code == 401 and json.loads(body)["code"] == 16, body
        assert relay.metric(REFUSED, transport="http", reason="unknown token") >= 2
        assert relay.metric(REFUSED, transport="grpc") == len(bad)
        assert len(relay.log("a request is refused")) == 2, "one line for a client and protocol"
        assert not relay.log("one-token|other-token|" + base64.b64encode(b"anybody:one-token").decode())


def test_a_key_of_a_browser_and_a_client_that_recovers(folder):
    settings = {"token": "one-token", "browser_tokens": ["page-token"]}
    lines = [("Authorization", "Digest x"), ("Authorization", basic("u", "no")), ("Authorization", "Bearer one-token")]
    with Sink() as sink, Relay(server("bearertokenauth", settings, sink), folder) as relay:
        code, headers, body = post(relay, [("Authorization", "Bearer page-token")])
        assert (code, headers["WWW-Authenticate"]) == (401, 'Bearer realm="profrelay"')
        assert b"a key of type Browser may not send profiles" in body, body
        assert not grpc(relay, ("Authorization", "Bearer page-token"))
        assert relay.metric(REFUSED, reason="a key of type Browser may not send profiles") == 2
        for _ in range(3):
            assert post(relay, lines)[0] == 200
            assert grpc(relay, *reversed(lines))
            assert post(relay, lines[:2])[0] == 401
        relay.wait_line("127.0.0.1: accepted again", count=2)  # of grpc, of http
        assert len(relay.log("127.0.0.1: a request is refused")) == 2
        assert len(relay.log("127.0.0.1: accepted again")) == 2


def test_a_refused_body_is_not_taken(folder):
    """The answer comes at the head: the rest of a body is not waited for."""
    with Sink() as sink, Relay(server("bearertokenauth", {"token": "t"}, sink), folder) as relay:
        connection = http.client.HTTPConnection("127.0.0.1", port(relay), timeout=60)
        connection.putrequest("POST", PATH)
        for name, value in {**PROTO, "Content-Length": str(32 << 20)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status == 401
        connection.close()
        assert relay.metric("profrelay_memory_used_bytes") == 0


def test_browsers_ask_without_credentials(folder):
    with Sink() as sink, Relay(server("bearertokenauth", {"token": "t"}, sink, cors={"allowed_origins": ["https://a"]}), folder) as relay:
        code, headers, _ = post(relay, [("Origin", "https://a")], method="OPTIONS")
        assert code == 204 and headers["Access-Control-Allow-Origin"] == "https://a"
        assert post(relay, [("Origin", "https://a")])[0] == 401


def test_a_receivers_tokens_change(folder):
    tokens = write(folder / "tokens", "old\n")
    with Sink() as sink, Relay(server("bearertokenauth", {"filename": str(tokens)}, sink), folder) as relay:
        def codes():
            return [post(relay, [("Authorization", f"Bearer {t}")])[0] for t in ("old", "new")]
        assert codes() == [200, 401]
        write(tokens, "new\n")
        relay_until(lambda: codes() == [401, 200])
        tokens.write_text("")  # half of a rotation
        relay.wait_line("what was read before stays in use.*no token") if relay_until(
            lambda: (post(relay, []), relay.log("stays in use"))[1]) else None
        assert codes() == [401, 200]
        tokens.unlink()
        relay_until(lambda: (post(relay, []), len(relay.log("stays in use")) >= 2)[1])
        assert codes() == [401, 200]


def relay_until(condition):
    """Asks until it holds; the test's own timeout ends it."""
    while not condition():
        pass
    return True


def crypt_lines():
    """Lines of htpasswd, made by openssl and by Python's crypt: all of them have the password `secret`."""
    def apr1(*options):
        return subprocess.run(["openssl", "passwd", *options, "secret"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    import crypt  # pylint: disable=import-outside-toplevel,deprecated-module
    bcrypt = crypt.crypt("secret", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=1 << 5))
    sha = base64.b64encode(__import__("hashlib").sha1(b"secret").digest()).decode()
    return {"bcrypt": bcrypt, "bcrypt2y": "$2y$" + bcrypt[4:], "apr1": apr1("-apr1"), "sha256": apr1("-5"), "sha512": apr1("-6"),
            "sha": "{SHA}" + sha}


def test_users_of_htpasswd(folder):
    lines = crypt_lines()
    path = write(folder / "htpasswd", "".join(f"{user}:{line}\n" for user, line in lines.items()))
    with Sink() as sink, Relay(server("basicauth", {"htpasswd": {"file": str(path)}}, sink), folder) as relay:
        for user in lines:
            for _ in range(2):  # hashed, then known
                for password, code in (("secret", 200), ("Secret", 401), ("", 401)):
                    got, headers, _ = post(relay, [("Authorization", basic(user, password))])
                    assert got == code, (user, password, got)
                    assert code == 200 or headers["WWW-Authenticate"].startswith("Basic"), headers
            assert grpc(relay, ("authorization", basic(user, "secret")))
            assert not grpc(relay, ("authorization", basic(user, "other")))
        for headers in ([], [("Authorization", "Bearer secret")], [("Authorization", basic("nobody", "secret"))]):
            assert post(relay, headers)[0] == 401, headers
        assert post(relay, [("Authorization", basic("x", "y")), ("Authorization", basic("apr1", "secret"))])[0] == 200
        # a user who is taken off the list is known no more
        write(path, f"sha:{lines['sha']}\n")
        relay_until(lambda: post(relay, [("Authorization", basic("bcrypt", "secret"))])[0] == 401)
        assert post(relay, [("Authorization", basic("sha", "secret"))])[0] == 200
        assert not relay.log("secret")


def test_guesses_do_not_keep_others_out(folder):
    """Ever new passwords: the work is bounded, whoever is known is served at once."""
    import crypt  # pylint: disable=import-outside-toplevel,deprecated-module
    line = crypt.crypt("secret", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=1 << 10))
    with Sink() as sink, Relay(server("basicauth", {"htpasswd": {"inline": f"a:{line}"}}, sink), folder) as relay:
        assert post(relay, [("Authorization", basic("a", "secret"))])[0] == 200
        codes = []
        while 503 not in codes:
            code, headers, _ = post(relay, [("Authorization", basic("a", f"guess{len(codes)}"))])
            assert code == 401 or (code == 503 and int(headers["Retry-After"]) >= 1), code
            codes.append(code)
            assert post(relay, [("Authorization", basic("a", "secret"))])[0] == 200
        assert relay.metric(REFUSED, reason="too many new passwords to check now") == 1


# --- exporters ---

def sending(folder, sink, extensions, exporter=None, attributes=None):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "storage").mkdir(exist_ok=True)
    first = next(iter(extensions))
    source = file_receiver(folder / "in", "a")
    source["resource_attributes"].update(attributes or {})
    return config(receivers={"pprof": source},
                  exporters={"otlp_http": otlp_exporter(sink, auth={"authenticator": first}, **(exporter or {}))},
                  extensions={**extensions, "file_storage": {"directory": str(folder / "storage")}},
                  service={"extensions": [*extensions, "file_storage"],
                           "pipelines": {"profiles": {"receivers": ["pprof"], "exporters": ["otlp_http"]}}})


def only(token):
    return lambda headers: None if headers.get("authorization") == f"Bearer {token}" else status(401, "who are you?")


def test_a_refused_token_is_read_again_and_sent_once_more(folder):
    token = write(folder / "token", "old # comment\n")
    with Sink(judge=only("new")) as sink:
        with Relay(sending(folder, sink, {"bearertokenauth": {"filename": str(token)}}), folder) as relay:
            # rotated before anything is sent, and within the second in which the file is not looked at again
            add(folder / "in", "first")
            sink.wait_requests(2)  # the old token, twice
            relay.wait_metric("otelcol_exporter_send_failed_profile_samples", 1)
            assert [r.headers["authorization"] for r in sink.requests] == ["Bearer old"] * 2
            sink.judge = lambda headers: (write(token, "new\n"), only("new")(headers))[1]
            add(folder / "in", "second")
            sink.wait_accepted(1)
            assert [r.headers["authorization"] for r in sink.requests[2:]] == ["Bearer old", "Bearer new"]
            sink.judge = only("new")
            add(folder / "in", "third")
            sink.wait_accepted(2)
            assert len(sink.requests) == 5
            assert not relay.log("Bearer|[^-]old|: new"), relay.tail()


def test_a_user_from_files(folder):
    name, password = write(folder / "name", "user\n"), write(folder / "password", "first")
    client = {"client_auth": {"username_file": str(name), "password_file": str(password)}}

    def judge(headers):
        return None if headers.get("authorization") == basic("user", "first") else status(401)

    with Sink(judge=judge) as sink, Relay(sending(folder, sink, {"basicauth": client}), folder):
        add(folder / "in", "first")
        sink.wait_accepted(1)


def test_grpc_from_end_to_end(folder):
    """otlp_grpc with a token that changes, into a receiver whose tokens change before."""
    (folder / "first").mkdir()
    (folder / "last").mkdir()
    mine, theirs = write(folder / "mine", "one\n"), write(folder / "theirs", "one\n")
    extension = {"bearertokenauth": {"filename": str(theirs), "header": "x-token", "scheme": ""}}
    with Sink() as sink, Relay(server("bearertokenauth", extension["bearertokenauth"], sink), folder / "last") as behind:
        text = json.loads(sending(folder / "first", sink, {"bearertokenauth": {**extension["bearertokenauth"], "filename": str(mine)}}))
        text["exporters"] = {"otlp_grpc": {"endpoint": f"127.0.0.1:{port(behind, 'gRPC')}", "tls": {"insecure": True},
                                           "auth": {"authenticator": "bearertokenauth"}}}
        text["service"]["pipelines"]["profiles"]["exporters"] = ["otlp_grpc"]
        with Relay(json.dumps(text), folder / "first") as relay:
            add(folder / "first" / "in", "one")
            sink.wait_accepted(1)
            write(theirs, "two\n")
            relay_until(lambda: not grpc(behind, ("x-token", "one")))
            write(mine, "two\n")
            add(folder / "first" / "in", "two")
            sink.wait_accepted(2)
            write(theirs, "three\n")
            relay_until(lambda: not grpc(behind, ("x-token", "two")))
            add(folder / "first" / "in", "three")
            relay.wait_line("answers UNAUTHENTICATED")
            assert len(relay.log("one more try with the same")) == 1
        assert sink.count(lambda r: r.accepted) == 2


def test_headers_from_attributes(folder):
    """A batch with two datasets makes two requests, each with its own header and profiles."""
    token = write(folder / "token", "abc\n")
    setter = {"additional_auth": "bearertokenauth",
              "headers": [{"key": "Dash0-Dataset", "from_attribute": "dataset", "default_value": "main"},
                          {"key": "x-file", "value_file": str(token)}, {"action": "insert", "key": "x-here", "value": "no"},
                          {"action": "update", "key": "x-there", "value": "no"}, {"action": "delete", "key": "x-gone"}]}
    extensions = {"headers_setter": setter, "bearertokenauth": {"token": "t"}}
    with Sink() as sink:
        text = json.loads(sending(folder, sink, extensions, {"headers": {"x-here": "yes", "x-gone": "yes"}}))
        text["receivers"] |= {"otlp": {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}}
        text["service"]["pipelines"]["profiles"]["receivers"].append("otlp")
        with Relay(json.dumps(text), folder) as relay:
            add(folder / "in", "first")
            sink.wait_accepted(1)
            got = sink.requests[0].headers
            assert {k: v for k, v in got.items() if k.startswith("x-")} == {"x-file": "abc", "x-here": "yes"}, got
            assert (got["dash0-dataset"], got["authorization"]) == ("main", "Bearer t"), got
            request = otlp.parse(sink.accepted()[0])
            first = request.resource_profiles[0]
            for name, dataset in (("b", "two"), ("c", "three"), ("d", "two"), ("e", "\u00fc"), ("f", 7)):
                r = request.resource_profiles.add()
                r.CopyFrom(first)
                r.resource.attributes.add(key="name").value.string_value = name
                value = r.resource.attributes.add(key="dataset").value
                if isinstance(dataset, int):
                    value.int_value = dataset
                else:
                    value.string_value = dataset
            assert post(relay, [], request.SerializeToString())[0] == 200
            sink.wait_accepted(5)
            found = {r.headers["dash0-dataset"]: [g.resource.get("name") for g in otlp.decode(r.body)] for r in sink.requests[1:]}
            assert found == {"main": [None, "e"], "two": ["b", "d"], "three": ["c"], "7": ["f"]}, found
            assert relay.log("the resource attribute dataset of a batch cannot be sent in a header")


# --- validate ---

def validate(folder, text):
    path = folder / "v.yaml"
    path.write_text(text)
    done = run("validate", "--config", path)
    return done.returncode, done.stderr


def test_validate_opens_the_files(folder):
    with Sink() as sink:
        missing = str(folder / "missing")
        for extensions, key in (({"bearertokenauth": {"filename": missing}}, "filename"),
                                ({"basicauth": {"client_auth": {"username": "a", "password_file": missing}}}, "client_auth.password_file"),
                                ({"headers_setter": {"headers": [{"key": "a", "value_file": missing}]}}, "value_file")):
            code, words = validate(folder, sending(folder, sink, extensions))
            assert code == 1 and key in words and f"cannot read {missing}" in words, words
        code, words = validate(folder, server("basicauth", {"htpasswd": {"file": missing}}, sink))
        assert code == 1 and f"htpasswd.file: cannot read {missing}" in words, words
        code, words = validate(folder, server("basicauth", {"client_auth": {"username": "a", "password": "b"}}, sink))
        assert code == 1 and words.count("cannot check those that come in") == 2, words


def test_validate_looks_at_certificates(folder):
    def make(name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                        "-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")], check=True, stderr=subprocess.DEVNULL)
    make("a")
    make("b")
    a, b = ({"cert_file": str(folder / f"{x}.crt"), "key_file": str(folder / f"{x}.key")} for x in "ab")
    unfit = {**a, "key_file": b["key_file"]}

    def both(client, server_tls):
        return config(receivers={"otlp": {"protocols": {"http": {"endpoint": "localhost:0", "tls": server_tls}}}},
                      exporters={"otlp_grpc": {"endpoint": "localhost:1", "tls": client}},
                      service={"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_grpc"]}}})

    assert validate(folder, both({**a, "ca_file": b["cert_file"]}, b)) == (0, "")
    for client, server_tls, words in ((unfit, b, "otlp_grpc: tls: key_file"), (a, unfit, "http.tls: key_file"),
                                      ({"ca_file": a["key_file"]}, b, "tls: ca_file"), (a, {**b, "client_ca_file": "/nowhere"}, "/nowhere")):
        code, found = validate(folder, both(client, server_tls))
        assert code == 1 and words in found, (words, found)


def test_validate_resolves_the_hosts(folder):
    """Whether there is a resolver or not: of .invalid (RFC 6761) nothing is learned but that it is not there."""
    text = config(receivers={"otlp": {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}},
                  exporters={"otlp_http": {"endpoint": "http://nobody.invalid:1"}, "otlp_http/here": {"endpoint": "http://localhost:1"},
                             "otlp_http/proxy": {"endpoint": "http://else.invalid:1", "proxy_url": "http://127.0.0.1:1"}},
                  service={"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_http", "otlp_http/here", "otlp_http/proxy"]}}})
    code, words = validate(folder, text)
    assert 'exporters.otlp_http: endpoint: the name "nobody.invalid"' in words and words.count("the name") == 1, words
    assert code == (0 if "warning:" in words else 1), words
    path = folder / "v.yaml"
    done = run("validate", "--no-resolve", "--config", path)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_secrets_are_hidden(folder):
    with Sink() as sink:
        extensions = {"headers_setter": {"additional_auth": "bearertokenauth", "headers": [{"key": "a", "value": "hide-me"}]},
                      "bearertokenauth": {"tokens": ["hide-me"]}, "basicauth": {"client_auth": {"username": "a", "password": "hide-me"}},
                      "basicauth/in": {"htpasswd": {"inline": "a:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="}}}
        path = folder / "v.yaml"
        path.write_text(sending(folder, sink, extensions))
        shown = run("print-config", "--config", path).stdout
        assert "hide-me" not in shown and "5en6G6Mez" not in shown, shown
