import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.report.stored import SOURCE, store_run

from fabricbench.analysis.links.uplinks import egress_distributions
from fabricbench.report.documents.model_notes import MODEL_NOTES
from fabricbench.report.html.rendering import render_page
from fabricbench.report.html.run_page import build_page, write_report
from fabricbench.report.output.atomic_files import OutputFileError
from fabricbench.store import StoreError, Trial

SIZES = [2**24 << step for step in range(3)]
FETCHING = {"src", "srcset", "href", "data", "poster", "action", "formaction", "background", "xlink:href"}
EVIL = '</script><script>alert("x")</script><img src=x onerror=alert(1)>'


class Reader(HTMLParser):
    """Collects what a browser would see: tags with attributes, the text, and the figures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.figures: list[str] = []
        self.styles: list[str] = []
        self._inside: tuple[str, dict[str, str | None]] = ("", {})
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = (tag, dict(attrs))
        self.tags.append(self._inside)

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._inside = ("", {})

    def handle_data(self, data: str) -> None:
        tag, attributes = self._inside
        if tag == "script" and attributes.get("type") == "application/json":
            self.figures.append(data)
        elif tag == "style":
            self.styles.append(data)
        elif tag != "script":
            self.text.append(data)

    @property
    def shown(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    return store_run(tmp_path_factory.mktemp("run") / "workspace", sizes=SIZES)


@pytest.fixture(scope="module")
def html(run: list[Trial]) -> str:
    return render_page(build_page(run, run[1]))


@pytest.fixture(scope="module")
def page(html: str) -> Reader:
    return Reader(html)


def test_nothing_in_the_page_is_fetched(page: Reader) -> None:
    for tag, attributes in page.tags:
        for name in FETCHING & attributes.keys():
            assert re.match(r"#|data:", attributes[name] or ""), (tag, name)
        assert tag not in {"iframe", "object", "embed", "base"}
        assert "@import" not in (attributes.get("style") or "")
        assert "url(" not in (attributes.get("style") or "")
    assert page.styles
    assert not any("url(" in style or "@import" in style for style in page.styles)


def test_the_browser_is_told_to_fetch_nothing(page: Reader) -> None:
    policies = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    rules = dict(rule.split(maxsplit=1) for rule in str(policies[0]).split("; "))
    assert rules.pop("default-src") == "'none'"
    assert {source for rule in rules.values() for source in rule.split()} == {
        "'unsafe-inline'",
        "data:",
        "blob:",
    }


def test_plotly_is_embedded_once_and_offers_no_upload(html: str) -> None:
    assert len(re.findall(r"plotly\.js v", html)) == 1
    assert "showSendToCloud: false" in html
    assert 'plotlyServerURL: ""' in html


def test_every_figure_is_json_with_its_place(page: Reader) -> None:
    places = {attributes.get("id") for _, attributes in page.tags}
    targets = [a["data-target"] for tag, a in page.tags if tag == "script" and "data-target" in a]
    assert set(targets) <= places
    assert len(targets) == len(set(targets)) == len(page.figures) == 10
    for figure in map(json.loads, page.figures):
        assert figure["data"]
        assert "width" not in figure["layout"]


def test_every_section_has_its_link(page: Reader) -> None:
    links = [a["href"] for tag, a in page.tags if tag == "a"]
    assert links == [f"#{a['id']}" for tag, a in page.tags if tag == "section"]
    assert len(links) == 12


def test_every_axis_names_its_quantity(page: Reader) -> None:
    for figure in map(json.loads, page.figures):
        for name, axis in figure["layout"].items():
            if re.fullmatch(r"xaxis\d*", name) and axis.get("visible", True):
                assert axis["title"]["text"]


def test_published_values_and_deviations_stand_in_the_table(page: Reader, run: list[Trial]) -> None:
    ours = run[0].results[0]["busbw_gb_per_s"]
    assert "46.9" in page.shown
    assert f"{100 * (ours / 46.9 - 1):+.2f}%" in page.shown
    assert SOURCE in page.shown


def test_the_focus_is_marked_and_named(page: Reader, run: list[Trial]) -> None:
    marked = [a for tag, a in page.tags if tag == "tr" and a.get("class") == "focus"]
    assert len(marked) == 1
    assert f"32 MB · trial {run[1].id}" in page.shown


def test_facts_plan_and_limits_are_given(page: Reader) -> None:
    for text in (
        "9,876,542",
        "12,000 fast windows, 34 exact windows",
        "lab1",
        "name: jct-alltoall",
        "100.0 ns",
    ):
        assert text in page.shown
    for note in MODEL_NOTES:
        assert note.left_out in page.shown


def test_text_from_a_plan_cannot_become_markup(tmp_path: Path) -> None:
    changes = {
        "title": EVIL,
        "plan": EVIL,
        "plan_source": EVIL,
        "tag": EVIL,
        "variant": EVIL,
        "overrides": (EVIL,),
    }
    trials = store_run(tmp_path / "workspace", sizes=[2**24], changes=changes)
    before = Reader(render_page(build_page(store_run(tmp_path / "plain", sizes=[2**24]), trials[0])))
    text = render_page(build_page(trials, trials[0]))
    page = Reader(text)
    assert EVIL not in text
    assert EVIL in page.shown
    assert len([tag for tag, _ in page.tags if tag == "script"]) == len(page.figures) + 2
    assert "img" not in {tag for tag, _ in page.tags}
    assert len(before.figures) == len(page.figures)


def test_names_in_figures_cannot_end_the_script(tmp_path: Path) -> None:
    trials = store_run(tmp_path / "workspace", sizes=[2**24], evil_name=EVIL)
    page = Reader(render_page(build_page(trials, trials[0])))
    assert "img" not in {tag for tag, _ in page.tags}
    assert any(
        EVIL in json.dumps(json.loads(figure), ensure_ascii=False).replace('\\"', '"')
        for figure in page.figures
    )


def test_an_incomplete_run_says_why_and_shows_no_bandwidth(tmp_path: Path) -> None:
    trials = store_run(tmp_path / "workspace", sizes=[2**24], broken=True)
    page = Reader(render_page(build_page(trials, trials[0])))
    assert "incomplete: 1 result, which has chunks that never completed" in page.shown
    assert "16 MB is incomplete: 1 chunk failed: rank 7 to rank 3" in page.shown
    assert "there is no bandwidth to draw" in page.shown
    assert "Hatched bars never completed" in page.shown


def test_uplinks_and_causes_have_their_sections(page: Reader, run: list[Trial]) -> None:
    assert "uplinks" in {attributes.get("id") for tag, attributes in page.tags if tag == "section"}
    assert "leaf0" in page.shown
    distributions = egress_distributions(run[1].tables.batches("ports"))
    assert [each.qps_text in page.shown for each in distributions] == [True, True]


def test_a_run_without_samples_says_so(tmp_path: Path) -> None:
    trials = store_run(tmp_path / "workspace", sizes=[2**24], samples=0)
    assert "Nothing was sampled" in Reader(render_page(build_page(trials, trials[0]))).shown


def test_the_same_run_gives_the_same_file(run: list[Trial], html: str) -> None:
    assert render_page(build_page(run, run[1])) == html


def test_the_file_replaces_an_older_one(run: list[Trial], html: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_report(run, run[1], path) == path.stat().st_size
    assert path.read_text() == html
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_older_file(tmp_path: Path) -> None:
    broken = store_run(tmp_path / "workspace", sizes=[2**24])
    broken[0].tables.path("chunks").write_bytes(b"PAR1 and then nothing")
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(StoreError):
        write_report(broken, broken[0], path)
    assert path.read_text() == "old"


def test_a_directory_is_refused(run: list[Trial], tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="it is a directory"):
        write_report(run, run[0], tmp_path)
