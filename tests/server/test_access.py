"""Nothing is told without a token, to other sites, or from outside the workspace."""

from __future__ import annotations

import hashlib
import json
import re
import time
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.server.conftest import TOKEN, ClientOf

from fabricbench.server.access.auth import UsersFileError, read_users
from fabricbench.server.settings import Settings, digest

OPEN = {("get", "/healthz"), ("post", "/api/v1/login")}


def operations(client: TestClient) -> list[tuple[str, str]]:
    assert isinstance(client.app, FastAPI)
    paths = client.app.openapi()["paths"]
    return [(method, path) for path, methods in paths.items() for method in methods]


def test_every_operation_but_health_and_login_needs_the_token(reader: TestClient) -> None:
    found = operations(reader)
    assert len(found) > 15
    for method, path in found:
        address = re.sub(r"\{\w+\}", "latest", path)
        bare = reader.request(method, address, headers={"Authorization": ""})
        assert (bare.status_code == 401) == ((method, path) not in OPEN), (method, path)
    for path in ("/metrics", "/openapi.json", "/api/v1/nothing"):
        assert reader.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_an_error_has_one_form(reader: TestClient) -> None:
    answer = reader.get("/api/v1/about", headers={"Authorization": ""})
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    error = answer.json()["error"]
    assert error["message"] == "the token is missing or wrong"
    assert set(error) == {"message", "hint", "field", "file", "line", "column", "found", "allowed"}


def test_the_address_that_is_printed_becomes_a_cookie(reader: TestClient) -> None:
    answer = reader.get(f"/?token={TOKEN}", headers={"Authorization": ""}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert reader.get("/api/v1/about", headers={"Authorization": ""}).status_code == 200
    assert reader.post("/api/v1/logout").status_code == 204
    assert reader.get("/api/v1/about", headers={"Authorization": ""}).status_code == 401
    wrong = reader.get("/?token=wrong", headers={"Authorization": ""}, follow_redirects=False)
    assert (wrong.headers["location"], "set-cookie" in wrong.headers) == ("/?denied", False)


def test_any_page_logs_in_by_the_token_in_its_address(reader: TestClient) -> None:
    browser = {"Authorization": "", "Accept": "text/html"}

    def opened(address: str) -> tuple[int, str, bool]:
        answer = reader.get(address, headers=browser, follow_redirects=False)
        return answer.status_code, answer.headers["location"], "set-cookie" in answer.headers

    address = "/trials/00aa11bb22cc/links?where=from:eq:leaf0"
    kept = "/trials/00aa11bb22cc/links?where=from%3Aeq%3Aleaf0"
    assert opened(f"{address}&token={TOKEN}") == (303, kept, True)
    assert reader.get("/api/v1/about", headers={"Authorization": ""}).status_code == 200
    assert opened(f"{address}&token=wrong") == (303, "/?denied", False)
    # Two slashes would begin the address of another server.
    assert opened(f"http://testserver//elsewhere.example/x?token={TOKEN}")[1] == "/elsewhere.example/x"


def logged_in(client: TestClient) -> str:
    """Log in and return the header that a browser would send from then on."""
    client.cookies.clear()
    answer = client.post("/api/v1/login", json={"token": TOKEN}, headers={"Authorization": ""})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    client.cookies.clear()
    return str(cookie)


def about(client: TestClient, cookie: str) -> int:
    return int(client.get("/api/v1/about", headers={"Authorization": "", "Cookie": cookie}).status_code)


def test_logging_out_ends_that_login_and_no_other(tmp_path: Path, client_of: ClientOf) -> None:
    client = client_of(tmp_path)
    first, second = logged_in(client), logged_in(client)
    assert first != second
    assert TOKEN not in first
    again = client_of(tmp_path)
    assert [about(each, cookie) for each in (client, again) for cookie in (first, second)] == [200] * 4
    out = client.post("/api/v1/logout", headers={"Authorization": "", "Cookie": first})
    assert (out.status_code, "Max-Age=0" in out.headers["set-cookie"]) == (204, True)
    assert [about(each, first) for each in (client, again)] == [401] * 2, "somebody has kept a copy of it"
    assert [about(each, second) for each in (client, again)] == [200] * 2
    name = first.partition("=")[0]
    for made_up in (TOKEN, "", "0" * 64, "../" * 21 + "x", second.partition("=")[2][:-1]):
        assert about(client, f"{name}={made_up}") == 401


def test_a_login_ends_with_its_token_and_after_a_month(
    tmp_path: Path, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cookie = logged_in(client_of(tmp_path))
    assert about(client_of(tmp_path, Settings(token="another-token-of-16")), cookie) == 401
    ada = Settings(token="another-token-of-16", users={"ada": digest(TOKEN)})
    adas = logged_in(client_of(tmp_path, ada))
    assert about(client_of(tmp_path, ada), adas) == 200
    assert about(client_of(tmp_path, Settings(token=TOKEN, users={"bob": digest(TOKEN)})), adas) == 401
    later = time.time() + 31 * 24 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert about(client_of(tmp_path), cookie) == 401
    logged_in(client_of(tmp_path))
    assert len(list((tmp_path / "logins").iterdir())) == 1, "those that have ended are forgotten"


def test_what_is_kept_of_a_login_logs_nobody_in(tmp_path: Path, client_of: ClientOf) -> None:
    client = client_of(tmp_path)
    cookie = logged_in(client)
    name, _, secret = cookie.partition("=")
    (file,) = (tmp_path / "logins").iterdir()
    kept = file.read_text()
    for known in (secret, TOKEN, digest(TOKEN)):
        assert known not in kept + file.name
    for found in (file.name, *json.loads(kept).values()):
        assert about(client, f"{name}={found}") == 401
    assert (file.stat().st_mode & 0o077, file.parent.stat().st_mode & 0o077) == (0, 0)
    file.write_text("{")
    assert about(client, cookie) == 401


def test_login_takes_the_token_and_nothing_else(reader: TestClient) -> None:
    assert reader.post("/api/v1/login", json={"token": "wrong"}).status_code == 401
    assert reader.post("/api/v1/login", json={"token": TOKEN}).status_code == 204
    reader.cookies.clear()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Host": "evil.example:8989"},
    ],
)
def test_a_page_of_another_site_changes_nothing(reader: TestClient, headers: dict[str, str]) -> None:
    assert reader.post("/api/v1/plans/check", json={"yaml": ""}, headers=headers).status_code == 403


def test_a_page_of_this_server_may(reader: TestClient) -> None:
    headers = {"Origin": "http://127.0.0.1:8989", "Sec-Fetch-Site": "same-origin"}
    assert reader.post("/api/v1/plans/check", json={"yaml": ""}, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/assets/../../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e%2f%2e%2e%2fetc/passwd",
        "//etc/passwd",
        "/.env",
        "/assets/%00",
        "/..%5c..%5cetc%5cpasswd",
        "/server/app.py",
        "/api/v1/plans/..%2f..%2fREADME",
        "/api/v1/plans/%2e%2e",
        "/api/v1/trials/..%2f..%2fcatalog.sqlite",
        "/api/v1/trials/latest/tables/..%2f..%2fcatalog",
        "/api/v1/trials/latest/figures/..%2ftimeline",
    ],
)
def test_path_tricks_find_nothing(reader: TestClient, path: str) -> None:
    answer = reader.get(path)
    assert answer.status_code in (404, 422), answer.text
    if not path.startswith("/api/"):
        assert answer.status_code == 404
    assert "root:" not in answer.text


def test_the_web_application_is_served_and_nothing_beside_it(tmp_path: Path, client_of: ClientOf) -> None:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<title>application</title>")
    (static / "assets" / "index-1.js").write_text("let application")
    (tmp_path / "secret.txt").write_text("secret")
    (static / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    client = client_of(tmp_path / "workspace", Settings(token=TOKEN, static=static))
    browser = {"Accept": "text/html,*/*;q=0.8"}
    for page in ("/", "/trials", "/trials/0123456789ab/timeline", "/compare", "/campaigns/ecn-0.5"):
        assert "application" in client.get(page, headers=browser).text
    script = client.get("/assets/index-1.js")
    assert (script.text, "immutable" in script.headers["cache-control"]) == ("let application", True)
    for path in ("/assets/link.txt", "/assets/../../secret.txt", "/secret.txt", "/nothing", "/assets/"):
        assert client.get(path).status_code == 404
    for path in ("/assets/link.txt", "/api/v1/nothing", "/vendor/nothing"):
        assert client.get(path, headers=browser).status_code == 404
    assert "secret" not in client.get("/secret.txt", headers=browser).text


def test_each_user_has_a_token(tmp_path: Path, client_of: ClientOf) -> None:
    file = tmp_path / "users"
    hashed = hashlib.sha256(b"ada's own token").hexdigest()
    file.write_text(f"# the team\nada:{hashed}\n")
    settings = Settings(users=read_users(file))
    client = client_of(tmp_path / "workspace", settings)
    own = {"Authorization": "Bearer ada's own token"}
    assert client.get("/api/v1/about", headers=own).json()["user"] == "ada"
    for wrong in (hashed, "", TOKEN):
        assert client.get("/api/v1/about", headers={"Authorization": f"Bearer {wrong}"}).status_code == 401


@pytest.mark.parametrize("content", ["ada", "ada:0123", "", "a b:" + "0" * 64])
def test_a_users_file_of_another_form_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "users"
    file.write_text(content)
    with pytest.raises(UsersFileError, match="users"):
        read_users(file)
