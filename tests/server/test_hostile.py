"""What no client would send is answered all the same: with an error below 500, and soon."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import ClientOf
from tests.support.samples import PLAN
from tests.support.soak import times

HALF = "\ud800"
"""Half of a surrogate pair: JSON and YAML can write it, and no text can hold it."""
TEXTS = (
    *(HALF, f"a{HALF[0]}b", "\x00", "", " ", "%", "\\", "\u202e", "é" * 50, "x" * 3000, "..", "../.."),
    *("-1", "1e400", "NaN", "null", "[]", "{}", "9" * 30, "9" * 5000, "0x10", "a\nb", "a,a", "fct_ps,fct_ps"),
    *("fct_ps:gt:", "fct_ps:eq:" + "9" * 30, "src_rank:eq:1e5", "status:contains:(", "status:lt:1", "¹:eq:²"),
)
GOOD = {"trial_id": "latest", "table": "chunks", "file": "plan.yaml", "run_id": "0" * 12}
APART = ("/events", "/metrics", "/logout", "/imports")


def encoded(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def addresses(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Return requests that have each parameter of each operation wrong in each way."""
    found = []
    for path, methods in document["paths"].items():
        for method in {"get", "post", "patch"} & set(methods) if not path.endswith(APART) else ():
            name = "timeline" if "figures" in path else "jct-alltoall"
            good = GOOD | {"name": name}
            for parameter in methods[method].get("parameters", []):
                found += [(method, address(path, parameter, text, good)) for text in TEXTS]
    return found


def address(path: str, parameter: dict[str, Any], text: str, good: dict[str, str]) -> str:
    name = parameter["name"]
    given = good | ({name: encoded(text)} if parameter["in"] == "path" else {})
    for each, value in given.items():
        path = path.replace(f"{{{each}}}", value)
    return f"{path}?{name}={encoded(text)}" if parameter["in"] == "query" else path


def test_no_parameter_of_any_form_is_too_much(reader: TestClient) -> None:
    document = reader.get("/openapi.json").json()
    asked = addresses(document)
    assert len(asked) > 1000
    for method, path in random.Random(len(asked)).sample(asked, times(300, len(asked))):
        began = time.monotonic()
        answer = reader.request(method, path, json={} if method == "patch" else None)
        assert answer.status_code < 500, (method, path, answer.text)
        assert time.monotonic() - began < 10, (method, path)


def test_a_column_that_is_asked_for_twice_is_an_error(reader: TestClient) -> None:
    answer = reader.get("/api/v1/trials/latest/tables/chunks?columns=fct_ps,status,fct_ps")
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == 'columns: found "fct_ps" twice'


def nested(levels: int, *, mappings: bool = False) -> str:
    return '{"a":' * levels + "1" + "}" * levels if mappings else "[" * levels + "]" * levels


def bodies() -> list[str]:
    """Return JSON that is a plan of sorts, with a value of each field wrong."""
    values = (
        *(
            json.dumps(each)
            for each in (HALF, [HALF], {HALF: 1}, {"name": HALF}, {"": ""}, "\x00", True, None)
        ),
        *(nested(900), nested(900, mappings=True), nested(250, mappings=True), nested(60_000)),
        *("NaN", "1e999", "9" * 5000, '{"a":1,"a":2}', '{"a":' + nested(400) + "}"),
    )
    fields = ("document", "yaml", "set", "variants", "tags", "threads", "no_such_field", HALF)
    return [
        json.dumps({"yaml": PLAN} if name != "document" else {})[:-1]
        + (", " if name != "document" else "")
        + f"{json.dumps(name)}: {value}}}"
        for name in fields
        for value in values
    ]


@pytest.mark.parametrize("path", ["plans/check", "login", "trials/latest"])
def test_no_body_of_any_form_is_too_much(tmp_path: Path, client_of: ClientOf, path: str) -> None:
    client = client_of(tmp_path)
    method = "patch" if path.startswith("trials") else "post"
    headers = {"Content-Type": "application/json"}
    for body in bodies():
        began = time.monotonic()
        answer = client.request(method, f"/api/v1/{path}", content=body, headers=headers)
        assert answer.status_code < 500, body[:200]
        assert time.monotonic() - began < 35, body[:200]
        assert json.loads(answer.text) is not None or answer.status_code == 204


YAMLS = {
    "half-a-pair": 'name: "\\ud800"',
    "half-a-pair-in-a-plan": PLAN.replace("name: small", 'name: "\\ud800"'),
    "lists": "[" * 900 + "]" * 900,
    "mappings": "{a: " * 900 + "1" + "}" * 900,
    "lines": "\n".join(" " * level + "a:" for level in range(900)),
    "itself": "a: &a [*a]",
    "laughs": "a: &a [1,1,1,1,1,1,1,1,1]\n"
    + "\n".join(
        f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]"
        for before, after in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "digits": "a: " + "9" * 5000,
    "hexadecimal": "a: 0x" + "f" * 5000,
}


@pytest.mark.parametrize("text", YAMLS.values(), ids=YAMLS)
def test_no_yaml_is_too_much(reader: TestClient, text: str) -> None:
    for more in ({}, {"document": {"name": "x"}}):
        began = time.monotonic()
        answer = reader.post("/api/v1/plans/check", json={"yaml": text} | more)
        assert answer.status_code in (200, 422), answer.text
        assert answer.status_code == 422 or answer.json()["errors"]
        assert time.monotonic() - began < 35
