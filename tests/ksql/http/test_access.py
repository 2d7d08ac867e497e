"""Who may come in."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headrace.core.errors import ConfigError
from headrace.ksql.http.access import Access, read_users
from headrace.ksql.http.server import Certificate, HttpServer

from .scripted import ScriptedService

Serve = Callable[[Access], HttpServer]


@pytest.fixture
def serve(service: ScriptedService) -> Iterator[Serve]:
    servers: list[HttpServer] = []

    def start(access: Access) -> HttpServer:
        servers.append(HttpServer(service, port=0, access=access))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_users_and_token(serve: Serve) -> None:
    url = serve(Access({"anna": "geheim:ü"}, "abc")).address
    refused = httpx.get(f"{url}/info")
    assert refused.status_code == 401
    assert refused.json() == {
        "@type": "generic_error",
        "error_code": 40100,
        "message": "Unauthorized",
    }
    assert refused.headers["www-authenticate"].startswith("Basic")
    assert httpx.get(f"{url}/info", auth=("anna", "geheim:ü")).status_code == 200
    assert httpx.get(f"{url}/info", auth=("anna", "falsch")).status_code == 401
    assert httpx.get(f"{url}/info", auth=("otto", "")).status_code == 401
    for value, status in {
        "Bearer abc": 200,
        "bearer abc": 200,
        "Bearer": 401,
        "Bearer x": 401,
        "Basic !": 401,
        "Basic /w==": 401,
        "abc": 401,
        "": 401,
    }.items():
        headers = {"Authorization": value}
        assert httpx.get(f"{url}/info", headers=headers).status_code == status, value
    assert httpx.get(f"{url}/healthcheck").status_code == 200
    assert httpx.get(f"{url}/v1/metadata").status_code == 200


def test_the_console_is_open_and_what_it_shows_is_not(serve: Serve) -> None:
    url = serve(Access(token="abc")).address
    for path in ("/console", "/console/sql.js"):
        assert httpx.get(url + path).status_code == 200, path
    for path in ("/console/none", "/console/../info", "/console/%2e%2e/info"):
        assert httpx.get(url + path).status_code in (401, 404), path
    assert httpx.get(f"{url}/consoles").status_code == 401
    picture = f"{url}/v1/queries/CTAS_T_1/picture"
    assert httpx.get(picture).status_code == 401
    assert httpx.get(picture, headers={"Authorization": "Bearer abc"}).status_code == 200
    assert httpx.get(f"{url}/console", headers={"Origin": "http://evil"}).status_code == 403


def test_without_users_nobody_is_one(serve: Serve) -> None:
    url = serve(Access(token="abc")).address
    assert httpx.get(f"{url}/info", auth=("", "")).status_code == 401


def test_pages_of_others(serve: Serve) -> None:
    url = serve(Access(hosts=("ksql.example",))).address
    assert httpx.get(f"{url}/info", headers={"Host": "ksql.example:8088"}).status_code == 200
    assert httpx.get(f"{url}/info", headers={"Host": "evil.example"}).status_code == 403
    assert httpx.get(f"{url}/info", headers={"Origin": "http://evil.example"}).status_code == 403
    assert httpx.get(f"{url}/info", headers={"Origin": url}).status_code == 200


def test_too_many_requests(serve: Serve) -> None:
    url = serve(Access(rate=2)).address
    with httpx.Client() as client:
        answers = [client.get(f"{url}/info") for _ in range(5)]
    assert answers[0].status_code == 200
    refused = answers[-1]
    assert (refused.status_code, refused.json()["error_code"]) == (429, 42900)
    assert refused.headers["retry-after"] == "1"


def test_users_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("# who\n\nanna:a:b\notto:c\n")
    path.chmod(0o600)
    assert read_users(path) == {"anna": "a:b", "otto": "c"}
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_users(path)
    path.chmod(0o600)
    path.write_text("anna\n")
    with pytest.raises(ConfigError, match="line 1"):
        read_users(path)
    path.write_text("")
    with pytest.raises(ConfigError, match="no users"):
        read_users(path)
    with pytest.raises(ConfigError, match="can't be read"):
        read_users(tmp_path / "nothing")


def test_other_machines_need_protection(service: ScriptedService, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"server\.token or .* and server\.certificate"):
        HttpServer(service, "0.0.0.0", 0)
    with pytest.raises(ConfigError, match=r"needs server\.certificate"):
        HttpServer(service, "0.0.0.0", 0, access=Access(token="abc"))
    missing = Certificate(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ConfigError, match="can't be used"):
        HttpServer(service, certificate=missing)


def test_port_that_is_taken(service: ScriptedService, server: HttpServer) -> None:
    with pytest.raises(ConfigError, match="Choose another port"):
        HttpServer(service, port=server.host_and_port[1])


@pytest.mark.parametrize("http2", [False, True])
def test_tls(service: ScriptedService, tmp_path: Path, http2: bool) -> None:
    certificate = made_certificate(tmp_path)
    server = HttpServer(service, port=0, certificate=certificate)
    try:
        trusted = ssl.create_default_context(cafile=str(certificate.file))
        with httpx.Client(verify=trusted, http2=http2) as client:
            answer = client.get(f"{server.address.replace('127.0.0.1', 'localhost')}/info")
        assert server.address.startswith("https://")
        assert answer.status_code == 200
        assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
    finally:
        server.close()


def made_certificate(directory: Path) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = Certificate(directory / "certificate.pem", directory / "key.pem")
    files.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files.key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files
