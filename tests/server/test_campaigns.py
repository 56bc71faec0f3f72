"""How far campaigns are, by HTTP."""

from __future__ import annotations

from pathlib import Path

from tests.server.conftest import ClientOf

from fabricbench.store.campaigns import CampaignState, note_campaign

STATE = CampaignState("ecn", "running", 200, 10, 40, 1, 25.5, 30.0, 90.0, 8, waits="the catalog")


def test_campaigns_are_listed_as_they_were_noted(tmp_path: Path, client_of: ClientOf) -> None:
    client = client_of(tmp_path)
    assert client.get("/api/v1/campaigns").json() == {"campaigns": []}
    note_campaign(tmp_path, STATE)
    (listed,) = client.get("/api/v1/campaigns").json()["campaigns"]
    assert listed.pop("noted_at").endswith("+00:00")
    assert listed == {
        "name": "ecn",
        "state": "running",
        "trials": 200,
        "kept": 10,
        "finished": 40,
        "failed": 1,
        "percent": 25.5,
        "elapsed_s": 30.0,
        "left_s": 90.0,
        "cores": 8,
        "waits": "the catalog",
    }


def test_a_file_that_somebody_has_changed_is_left_out(tmp_path: Path, client_of: ClientOf) -> None:
    client = client_of(tmp_path)
    note_campaign(tmp_path, STATE)
    file = tmp_path / "campaigns" / "ecn.json"
    file.write_text(file.read_text().replace("25.5", '"most"'))
    answer = client.get("/api/v1/campaigns")
    assert (answer.status_code, answer.json()) == (200, {"campaigns": []})
