"""What `serve` does before it is up, and what bounds those who sign in and watch."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi.testclient import TestClient

from fabricbench.server.access import logins
from fabricbench.server.access.logins import ATTEMPTS, SESSIONS_MAX, Logins, Throttle
from fabricbench.server.queue import events
from fabricbench.server.queue.events import Events
from fabricbench.server.serve import CertificateError, check_certificate
from fabricbench.server.settings import Settings, digest

TOKEN = "secret-token-of-32-characters-ok"
ClientOf = Callable[..., TestClient]


def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(own: ec.EllipticCurvePrivateKey, passphrase: bytes = b"") -> bytes:
    encryption = (
        serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    )
    return own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def certificate_pem(own: ec.EllipticCurvePrivateKey, from_day: int = 0) -> bytes:
    """Return a certificate that is valid for a day."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    first = datetime.now(UTC) + timedelta(days=from_day, seconds=-1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(own.public_key())
    builder = builder.serial_number(1).not_valid_before(first).not_valid_after(first + timedelta(days=1))
    return builder.sign(own, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


OWN = key()
GOOD = certificate_pem(OWN)
BAD: dict[str, tuple[bytes, bytes, str]] = {
    "empty certificate": (b"", key_pem(OWN), "--tls-cert"),
    "no PEM": (b"\x30\x82\x01\x00" * 50, key_pem(OWN), "expected a certificate in PEM"),
    "cut certificate": (GOOD[: len(GOOD) // 2], key_pem(OWN), "damaged"),
    "key of another": (GOOD, key_pem(key()), "not the key of the certificate"),
    "encrypted key": (GOOD, key_pem(OWN, b"word"), "encrypted"),
    "exchanged": (key_pem(OWN), GOOD, "--tls-cert"),
    "certificate as key": (GOOD, GOOD, "--tls-key"),
    "cut key": (GOOD, key_pem(OWN)[:120], "damaged"),
    "expired": (certificate_pem(OWN, -9), key_pem(OWN), "found one that expired on"),
    "not valid yet": (certificate_pem(OWN, 9), key_pem(OWN), "found one that is valid from"),
}


def certificate_files(name: str, folder: Path) -> tuple[Path, Path]:
    """Write a bad certificate and its key, and return their paths."""
    certificate, own, _ = BAD[name]
    files = folder / "cert.pem", folder / "key.pem"
    for file, content in zip(files, (certificate, own), strict=True):
        file.write_bytes(content)
    return files


@pytest.mark.parametrize("name", BAD)
def test_a_bad_certificate_is_refused(name: str, tmp_path: Path) -> None:
    certificate, own = certificate_files(name, tmp_path)
    settings = Settings(token=TOKEN, tls_certificate=certificate, tls_key=own)
    with pytest.raises(CertificateError) as refused:
        check_certificate(settings)
    assert BAD[name][2] in str(refused.value)


def test_a_bad_certificate_is_one_error_and_no_token(tmp_path: Path) -> None:
    certificate, own = certificate_files("expired", tmp_path)
    command = [sys.executable, "-m", "fabricbench", "serve", "--port", "0", "--workspace", "here"]
    command += ["--tls-cert", str(certificate), "--tls-key", str(own)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert BAD["expired"][2] in done.stderr
    assert done.stderr.count("error:") == 1
    assert not any(word in done.stderr for word in ("token", "Traceback", "bug"))


@pytest.mark.parametrize("given", ["environment", "option", "none"])
def test_a_token_of_the_user_is_never_printed(given: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fabricbench", "serve", "--port", "0", "--workspace", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "FABRICBENCH_TOKEN"}
    if given == "environment":
        environment["FABRICBENCH_TOKEN"] = TOKEN
    elif given == "option":
        command += ["--token", TOKEN]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    said = ""
    while "?token=" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    process.terminate()
    rest, more = process.communicate(timeout=60)
    shown = said.partition("?token=")[2].strip()
    assert TOKEN not in said + rest + more
    if given == "none":
        assert len(shown) == 48
    else:
        assert shown == {"environment": "$FABRICBENCH_TOKEN", "option": "TOKEN"}[given]


def test_sign_ins_of_an_address_are_throttled(
    tmp_path: Path, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow the machine is, the bucket is not refilled between two requests.
    monkeypatch.setattr("fabricbench.server.access.logins.ATTEMPTS_PER_S", 1e-6)
    client = client_of(tmp_path)
    statuses = [
        client.post("/api/v1/login", json={"token": "wrong"}, headers={"Authorization": ""}).status_code
        for _ in range(ATTEMPTS + 20)
    ]
    assert statuses[:ATTEMPTS] == [401] * ATTEMPTS
    assert 429 in statuses[ATTEMPTS:]
    refused = client.get("/?token=wrong", follow_redirects=False)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) >= 1
    assert client.get("/api/v1/about").status_code == 200, "whoever shows a token is not concerned"


def test_a_bucket_is_refilled_and_belongs_to_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("fabricbench.server.access.logins.time.monotonic", lambda: now[0])
    throttle = Throttle()
    assert [throttle.wait_s("a") for _ in range(ATTEMPTS)] == [0] * ATTEMPTS
    assert throttle.wait_s("a") == 1
    assert throttle.wait_s("b") == 0
    now[0] += 2
    assert [throttle.wait_s("a"), throttle.wait_s("a")] == [0, 0]
    assert throttle.wait_s("a") > 0


def test_many_addresses_take_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricbench.server.access.logins._ADDRESSES_MAX", 5)
    throttle = Throttle()
    for number in range(100):
        throttle.wait_s(str(number))
    assert len(throttle._buckets) == 5


def test_all_sign_ins_are_one_file_and_a_user_has_so_many(tmp_path: Path) -> None:
    settings = Settings(token=TOKEN, users={"ada": digest("x" * 16)})
    own = Logins(tmp_path / "logins", settings)
    adas = own.begin("ada")
    secrets = [own.begin("") for _ in range(SESSIONS_MAX + 3)]
    assert [each.name for each in (tmp_path / "logins").iterdir()] == ["sessions.json"]
    assert stat.S_IMODE((tmp_path / "logins" / "sessions.json").stat().st_mode) == 0o600
    assert [own.user_of(each) for each in secrets] == [None] * 3 + [""] * SESSIONS_MAX
    assert own.user_of(adas) == "ada"
    own.end(secrets[-1])
    assert Logins(tmp_path / "logins", settings).user_of(secrets[-1]) is None


def test_servers_that_sign_in_at_once_lose_no_login(tmp_path: Path) -> None:
    settings = Settings(token=TOKEN)
    servers = [Logins(tmp_path / "logins", settings) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        secrets = list(pool.map(lambda number: servers[number % 4].begin(""), range(48)))
    assert [servers[0].user_of(each) for each in secrets] == [""] * 48


def test_files_of_earlier_versions_are_removed_and_damaged_ones_hold_no_login(tmp_path: Path) -> None:
    folder = tmp_path / "logins"
    folder.mkdir()
    (folder / ("0" * 64)).write_text("{}")
    own = Logins(folder, Settings(token=TOKEN))
    for content in ("[]", "{", '{"a": 1}', '{"a": {"user": 1, "proof": "", "ends_at": 1.0}}', ""):
        (folder / "sessions.json").write_text(content)
        assert own.user_of("0" * 64) is None
        assert own.user_of(own.begin("")) == ""
    assert len(json.loads((folder / "sessions.json").read_text())) == 1
    assert logins.FOLDER == "logins"
    assert [each.name for each in folder.iterdir()] == ["sessions.json"]


def test_streams_are_bounded_and_count_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "STREAMS_MAX", 3)
    own = Events()
    assert [own.open_stream() for _ in range(4)] == [True, True, True, False]
    own.close_stream()
    assert [own.open_stream(), own.open_stream()] == [True, False]
