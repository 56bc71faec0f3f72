"""How far campaigns are, by HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.conftest import ClientOf
from tests.support.campaigns import CAMPAIGN, Values, known, made, measured, written

from fabricbench.store import TrialFacts
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


URL = "/api/v1/campaigns/acknowledge"


def test_a_campaign_is_told_with_what_its_factors_do(tmp_path: Path, client_of: ClientOf) -> None:
    file = written(tmp_path, CAMPAIGN)
    known(file, measured(file, tmp_path / "lab", made))
    client = client_of(tmp_path / "lab")
    detail = client.get(URL).json()
    assert (detail["progress"]["state"], detail["has_trials"]) == ("complete", True)
    assert (detail["recorded"], detail["missing_total"]) == (18, 0)
    assert detail["source"] == CAMPAIGN
    assert [each["name"] for each in detail["factors"]] == ["data_size", "transport.ack_every"]
    assert detail["metrics"] == ["completion_time_ms", "queue_max_bytes"]
    told = client.get(f"{URL}/analysis").json()
    assert told["metric"] == "completion_time_ms"
    # The mean of all is 150 ms; each value of the field adds -10, 0 or 10.
    effects = {row["value"]: row["percent"] for row in told["effects"]}
    assert effects["16"] == pytest.approx(-100 * 10 / 150)
    assert effects["2 MB"] == pytest.approx(100 * 50 / 150)
    assert (told["best"][0]["mean"], told["worst"], told["settings_total"]) == (90.0, [], 6)
    assert [each["name"] for each in told["figures"]] == ["effects", "pair-0", "parallel"]
    assert all(each["data"] and each["layout"] and each["caption"] for each in told["figures"])
    relative = client.get(f"{URL}/analysis", params={"relative": True}).json()
    assert relative["unit"] == ""
    front = client.get(f"{URL}/pareto").json()
    assert front["metrics"] == ["completion_time_ms", "queue_max_bytes"]
    assert front["front_total"] == 6  # the faster, the longer the queue


def test_what_is_not_there_yet_is_told_and_counts_as_soon_as_it_is(
    tmp_path: Path, client_of: ClientOf
) -> None:
    file, client = written(tmp_path, CAMPAIGN), client_of(tmp_path / "lab")
    assert client.get(URL).status_code == 404
    workspace = measured(file, tmp_path / "lab", lambda *_: None)
    known(file, workspace, state="running", finished=0, percent=0.0)
    detail = client.get(URL).json()
    assert (detail["recorded"], detail["missing_total"], detail["metrics"]) == (0, 18, [])
    assert detail["missing"][0]["status"] == "not run"
    assert client.get(f"{URL}/analysis").status_code == 404
    assert client.get(f"{URL}/pareto").status_code == 404

    def some(facts: TrialFacts, place: int) -> Values | None:
        return made(facts, place) if place % 3 else None

    measured(file, tmp_path / "lab", some)
    assert client.get(URL).json()["recorded"] == 12
    told = client.get(f"{URL}/analysis").json()
    assert {row["seeds"] for row in told["best"]} == {2}


def test_a_campaign_whose_trials_are_not_known_has_its_progress(tmp_path: Path, client_of: ClientOf) -> None:
    client = client_of(tmp_path)
    note_campaign(tmp_path, STATE)
    (tmp_path / "campaigns" / "ecn.parquet").write_bytes(b"PAR1 not at all")
    detail = client.get("/api/v1/campaigns/ecn").json()
    assert (detail["has_trials"], detail["progress"]["trials"]) == (False, 200)
    answer = client.get("/api/v1/campaigns/ecn/analysis")
    assert (answer.status_code, "not known" in answer.text) == (404, True)


@pytest.mark.parametrize(
    ("query", "status"),
    [("metric=nothing", 422), ("job=nobody", 422), ("relative=perhaps", 422), ("job=test", 200)],
)
def test_what_is_asked_is_checked(tmp_path: Path, client_of: ClientOf, query: str, status: int) -> None:
    file = written(tmp_path, CAMPAIGN)
    known(file, measured(file, tmp_path / "lab", made))
    answer = client_of(tmp_path / "lab").get(f"{URL}/analysis?{query}")
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("name", ["..%2F..%2Fsecret", ".hidden", "a%00b", "x" * 300])
def test_a_name_is_no_path(tmp_path: Path, client_of: ClientOf, name: str) -> None:
    assert client_of(tmp_path).get(f"/api/v1/campaigns/{name}").status_code in {404, 422}
