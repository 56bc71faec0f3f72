"""Configuring a trial: from nothing to its results, with the form and the YAML in step."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.web.axe import serious
from tests.web.conftest import Served

SAMPLES = Path(__file__).parents[1] / "devices" / "samples"

ENDLESS = """\
fabricbench: 1
name: endless
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, host_link: 400Gbps}
  load_balancing: spray-random
  switch: {pfc: on, ecn: alibaba}
transport: {mtu: 256, rate_control: dcqcn}
jobs:
  - {collective: incast, ranks: "0-7"}
sweep: {data_size: [256GB]}
"""
"""Takes more than ten minutes, with queues, marks and pauses; sprayed, so that nothing is skipped."""


def field(page: Page, name: str):  # type: ignore[no-untyped-def]
    return page.locator(f'[id="field-{name}"]')


def section(page: Page, name: str) -> None:
    page.get_by_role("tab", name=re.compile(f"^{name}")).click()


def editor_text(page: Page) -> str:
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def write(page: Page, text: str) -> None:
    """Replace the plan in the editor."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_a_trial_is_configured_from_nothing_run_watched_and_read(page: Page, served: Served) -> None:
    page.goto(served.address)
    page.get_by_role("link", name="Configure", exact=True).click()
    # It opens with a plan that runs, and an empty one is not found fault with.
    expect(page.get_by_text("2 trials, 8 ranks on 8 hosts")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Blank plan").click()
    expect(page.get_by_text("2 required fields are empty")).to_be_visible()
    expect(page.locator("main .worse:visible", has_text=re.compile("[a-z]"))).to_have_count(0)
    field(page, "name").fill("from-nothing")
    section(page, "Fabric")
    field(page, "fabric.topology").select_option("leaf-spine")
    for name, count in (("leaves", 2), ("hosts_per_leaf", 4), ("spines", 2)):
        field(page, f"fabric.topology.{name}").fill(str(count))
    section(page, "Jobs and ports")
    page.get_by_role("button", name="Add").click()
    field(page, "jobs.0.collective").select_option("all-reduce")
    field(page, "jobs.0.ranks").fill("0-7")
    section(page, "Sweep")
    field(page, "sweep.data_size").select_option("a list")
    page.get_by_label("Values of sweep.data_size").fill("1MB, 64MB")
    expect(page.get_by_text("2 trials, 8 ranks on 8 hosts")).to_be_visible()
    expect(page.get_by_role("group", name="Map of the fabric: 8 hosts, 4 switches")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")
    expect(page.get_by_text("2 of 2 trials")).to_be_visible()
    page.get_by_role("table", name="Results of the run").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="from-nothing")).to_be_visible()
    expect(page.get_by_text("Bus bandwidth", exact=True)).to_be_visible()


def test_a_field_is_swept_by_its_path_and_a_wrong_value_is_marked(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure")
    page.get_by_role("button", name="Blank plan").click()
    write(
        page,
        "fabricbench: 1\nname: swept\nfabric:\n  topology: {kind: single-switch, hosts: 4}\n"
        "jobs:\n  - {collective: all-reduce}\nsweep:\n  data_size: 1MB\n",
    )
    expect(page.get_by_text("1 trial, 4 ranks on 4 hosts")).to_be_visible()
    section(page, "Sweep")
    page.get_by_label("Field to sweep").fill("transport.window")
    page.get_by_role("button", name="Sweep it").click()
    values = page.get_by_label("Values of sweep.transport.window")
    values.fill("16, many")
    expect(page.get_by_label("swept fields").get_by_text('found "many"')).to_be_visible()
    values.fill("16, 64")
    expect(page.get_by_text("2 trials at 2 combinations, 4 ranks on 4 hosts")).to_be_visible()
    assert "transport.window:" in editor_text(page)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")
    expect(page.get_by_text("2 of 2 trials")).to_be_visible()
    results = page.get_by_role("table", name="Results of the run")
    expect(results.get_by_role("columnheader", name="Window")).to_be_visible()
    expect(results.get_by_role("cell", name="64", exact=True)).to_be_visible()
    expect(page.get_by_role("figure", name="Results of the run")).to_be_visible()


POINTS = "figure => figure.querySelector('.js-plotly-plot').data[0].x.length"
"""How many points the line of a chart has."""


def chart(page: Page, title: str) -> Locator:
    return page.get_by_role("figure", name=title, exact=True)


def until_points(page: Page, title: str, count: int) -> int:
    """Wait until a line has so many points, and return how many it has."""
    expect(chart(page, title).locator(".figure[data-drawn=true]")).to_have_count(1)
    script = f"([figure, count]) => ({POINTS})(figure) >= count"
    page.wait_for_function(script, arg=[chart(page, title).element_handle(), count])
    return int(chart(page, title).evaluate(POINTS))


def test_plots_fill_while_it_runs_and_cancelling_ends_it(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure")
    write(page, ENDLESS)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")
    for title in ("Goodput", "Deepest egress queue", "ECN marks", "Pauses"):
        drawn = until_points(page, title, 2)
        assert until_points(page, title, drawn + 1) > drawn
    queues = chart(page, "Deepest egress queue").evaluate(
        "figure => figure.querySelector('.js-plotly-plot').data[0].y"
    )
    assert max(queues) > 0
    # Nothing has ended: what is drawn came while the only trial ran.
    expect(page.get_by_text("0 of 1", exact=True)).to_be_visible()
    expect(page.get_by_text("running", exact=True).first).to_be_visible()
    share = page.locator("[role=status]").filter(has_text="%").first
    assert float(share.inner_text().removesuffix(" %")) < 100
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("cancelled", exact=True).first).to_be_visible()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(chart(page, "Deepest egress queue")).to_be_visible()


def test_wrong_input_is_told_at_its_field_and_at_its_line(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure?plan=jct-alltoall&section=transport")
    field(page, "transport.message_size").fill("12XB")
    row = page.locator('[data-field="transport.message_size"]')
    expect(row.get_by_role("alert")).to_contain_text('unknown unit "XB"')
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    section(page, "Test")
    page.get_by_role("button", name="transport.message_size", exact=True).click()
    expect(field(page, "transport.message_size")).to_be_focused()
    field(page, "transport.message_size").fill("64KB")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()


def test_form_and_yaml_stay_in_step_and_comments_stay(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure?plan=jct-alltoall&section=transport")
    comment = "# the document's frames: 512 of them for a chunk of 2 MiB"
    field(page, "transport.mtu").select_option("1024")
    expect(page.locator(".cm-content")).to_contain_text(f"mtu: 1024  {comment}")
    write(page, "fabricbench: 1\nname: typed\ntransport: {ack_every: 8}\n")
    expect(field(page, "transport.ack_every")).to_have_value("8")
    write(page, "a: [1")
    expect(page.get_by_text("The text is no valid YAML")).to_be_visible()
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    page.locator(".cm-content").press("Control+z")
    expect(field(page, "transport.ack_every")).to_have_value("8")
    page.get_by_role("button", name="Set transport.ack_every back to its default").click()
    assert "ack_every" not in editor_text(page)


def test_the_plan_of_a_trial_can_be_changed_and_run_again(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}/plan")
    page.get_by_role("link", name="Change and run again").click()
    expect(field(page, "name")).to_have_value("cc-alltoall-pfc-ecn")
    expect(page.get_by_text("1 trial, 8 ranks on 8 hosts")).to_be_visible()


def test_the_fabric_is_drawn_with_the_ranks_of_every_job(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure?plan=isolation-alltoall-neighbour")
    fabric = page.get_by_role("region", name="Fabric")
    for job in ("ring, 4 ranks", "neighbour, 4 ranks"):
        expect(fabric.get_by_text(job)).to_be_visible()
    picture = fabric.get_by_role("group", name="Map of the fabric")
    colours = {circle.get_attribute("fill") for circle in picture.locator("circle").all()}
    assert len(colours) == 2
    assert picture.locator("circle").count() == 8


def test_two_pods_of_rails_are_two_pods_and_a_host_is_found(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure?plan=expect-rails")
    fabric = page.get_by_role("region", name="Fabric")
    expect(fabric.get_by_text("8 rails x 64 servers in 2 pods")).to_be_visible()
    picture = fabric.get_by_role("group", name="Map of the fabric: 512 adapters, 304 switches")
    expect(picture.locator("text", has_text=re.compile(r"^pod \d+$"))).to_have_text(["pod 0", "pod 1"])
    expect(picture.get_by_text("2:1 oversubscribed")).to_be_visible()
    leaves = picture.get_by_role("button", name=re.compile(r"^leaf\d+, \d+$"))
    expect(leaves).to_have_count(16)
    colours = [leaf.locator("rect").last.get_attribute("stroke") for leaf in leaves.all()]
    assert (len(set(colours)), colours[:8]) == (8, colours[8:])
    spines = picture.get_by_role("button", name="spine0 to spine31, 32 spines")
    spines.press("Enter")
    expect(fabric.get_by_text("spine0 to spine31: 32 switches")).to_be_visible()
    expect(fabric.get_by_text("leaf0 (32 × 400 Gb/s), leaf8 (32 × 400 Gb/s)")).to_be_visible()
    fabric.get_by_label("Find a host or a switch").fill("host300")
    expect(fabric.get_by_role("status")).to_have_text("server37, pod 1, rail 4, leaf12")
    expect(fabric.locator("[data-host='300'][data-marked='true']")).to_be_visible()
    fabric.get_by_label("Find a host or a switch").fill("host512")
    expect(fabric.get_by_role("status")).to_have_text("no such host or switch")


def test_a_large_fabric_has_few_boxes(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure")
    topology = "{kind: fat-tree, pods: 16, leaves_per_pod: 16, hosts_per_leaf: 32, aggs_per_pod: 16, "
    write(
        page,
        f"fabricbench: 1\nname: large\nfabric:\n  topology: {topology}cores_per_agg: 16}}\n"
        'jobs:\n  - {collective: all-reduce, ranks: "0-7"}\nsweep: {data_size: 1MB}\n',
    )
    fabric = page.get_by_role("group", name="Map of the fabric: 8,192 hosts, 768 switches")
    expect(fabric.get_by_role("button", name="leaf48 to leaf63, 16")).to_be_visible()
    assert fabric.locator("*").count() < 400


def test_a_plan_of_the_gallery_is_found_by_words_and_by_topic(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure")
    page.get_by_role("button", name="Plans", exact=True).click()
    expect(page.get_by_text(re.compile(r"^\d+ plans$"))).to_be_visible()
    page.get_by_label("Search plans").fill("link failure 1,024")
    card = page.get_by_role("button", name="scale-link-failures")
    expect(card).to_contain_text("1 pod x 16 leaves x 64 hosts")
    expect(card.locator("svg")).to_be_visible()
    page.get_by_label("Search plans").fill("")
    page.get_by_role("group", name="Topics").get_by_role("button", name="Tenants").click()
    expect(page.get_by_text(re.compile(r"^4 of \d+ plans$"))).to_be_visible()
    assert serious(page) == []
    page.get_by_role("button", name="isolation-background").click()
    expect(field(page, "name")).to_have_value("isolation-background")


def test_a_plan_of_the_workspace_is_among_those_of_the_gallery(page: Page, served: Served) -> None:
    text = "fabricbench: 1\nname: of-this-lab\ntitle: Two hosts\nfabric:\n"
    text += "  topology: {kind: single-switch, hosts: 2}\njobs:\n  - {collective: all-reduce}\n"
    headers = {"Origin": served.address}
    data = {"yaml": f"{text}sweep: {{data_size: 1MB}}\n", "set": ["sweep.data_size=2MB"]}
    assert page.request.post(f"{served.address}/api/v1/runs", data=data, headers=headers).status == 202
    card = page.get_by_role("button", name="of-this-lab")
    for _ in range(60):  # until its first trial is in the catalog
        page.goto(f"{served.address}/configure?start=plans")
        expect(page.get_by_role("status").first).to_contain_text("plans")
        page.wait_for_load_state("networkidle")
        if card.count():
            break
    expect(card).to_contain_text("2 hosts, 1 switch")
    card.click()
    expect(field(page, "name")).to_have_value("of-this-lab")
    expect(page.locator(".cm-content")).to_contain_text("data_size: 2MB")


def test_a_file_of_a_device_gives_a_plan_with_its_origin(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure?start=file")
    area = page.get_by_role("region", name="File")
    expect(area).to_be_visible()
    drop(area, "wrong.txt", "leaf1# show queue counters\n")
    expect(page.get_by_role("alert")).to_contain_text("wrong.txt:1: found text at the top")
    assert serious(page) == []
    drop(area, "config_db.json", (SAMPLES / "port_qos.json").read_text())
    origin = page.get_by_role("region", name="Origin of the plan")
    expect(origin).to_contain_text("SONiC config_db.json")
    expect(origin).to_contain_text("fabric.topology: {kind: leaf-spine")
    expect(page.get_by_text("3 trials, 16 ranks on 16 hosts")).to_be_visible()
    assert "ingress_lossless_pool" in editor_text(page)
    assert serious(page) == []


def drop(area: Locator, name: str, text: str) -> None:
    """Drop a file on an area."""
    script = """([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        return data;
    }"""
    transfer = area.page.evaluate_handle(script, [name, text])
    area.dispatch_event("drop", {"dataTransfer": transfer})


def test_five_questions_give_a_plan_and_its_fabric(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure?start=questions")
    fabric = page.get_by_role("region", name="Fabric")
    expect(fabric.get_by_text("8 rails x 16 servers")).to_be_visible()
    page.get_by_label("How many").fill("64")
    page.get_by_label("Of each server").fill("4")
    page.get_by_text("3: pods, cores").click()
    page.get_by_label("Oversubscription at the leaves").fill("2")
    page.get_by_role("combobox", name="Load balancing").click()
    page.get_by_role("option", name="adaptive").click()
    expect(fabric.get_by_text("4 rails x 64 servers in 2 pods")).to_be_visible()
    expect(fabric.get_by_text("2:1 oversubscribed")).to_be_visible()
    assert serious(page) == []
    page.get_by_role("button", name="Open the plan").click()
    expect(field(page, "name")).to_have_value("dgx-h100-x64")
    expect(page.locator(".cm-content")).to_contain_text("load_balancing: adaptive")
    expect(page.get_by_text("5 trials, 512 ranks on 64 hosts")).to_be_visible()


def test_a_field_is_found_by_its_meaning_and_inserted(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/configure?plan=jct-alltoall")
    search = page.get_by_role("combobox", name="Find a field")
    search.fill("retransmission")
    found = page.get_by_role("option", name=re.compile("^transport.recovery"))
    expect(found).to_contain_text("default go_back_n")
    found.click()
    expect(field(page, "transport.recovery")).to_be_focused()
    search.fill("ecn kmin")
    page.get_by_role("option", name=re.compile("^fabric.switch.ecn.kmin")).click()
    expect(field(page, "fabric.switch.ecn.kmin")).to_be_focused()
    expect(page.locator(".cm-content")).to_contain_text("kmin:")
    search.fill("retry")
    page.get_by_role("option", name=re.compile("^transport.retry_count")).click()
    expect(field(page, "transport.retry_count")).to_be_focused()


def test_nothing_is_cut_at_1440_pixels(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    for address in ("plan=expect-rails", "start=plans", "start=questions", "start=file"):
        page.goto(f"{served.address}/configure?{address}")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1440
        assert page.locator(TEXTS).evaluate_all(CUT) == []


TEXTS = "main :is(button, h1, .mantine-Text-root:not([data-line-clamp]))"
CUT = "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.innerText)"
"""Texts that are wider than their box."""
