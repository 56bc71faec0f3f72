"""JUnit XML of a run for CI systems: a test suite for each plan, a test case for each job of each trial.

A criterion that is not met is a failure. A job that is not complete is skipped if no criterion judges it, or
fails if the caller requires complete trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from xml.etree import ElementTree

from fabricbench.report.documents.criteria import missed_text, trial_label
from fabricbench.results.job_reports import JobReport
from fabricbench.searched import Searched


def junit_xml(
    jobs: Sequence[JobReport],
    *,
    searches: Mapping[str, Sequence[Searched]] = MappingProxyType({}),
    errors: Mapping[str, str] = MappingProxyType({}),
    fail_incomplete: bool = False,
) -> str:
    """Return the result of a run as JUnit XML.

    Args:
        jobs: The jobs of trials, with those of a plan next to each other.
        searches: Results of searches by plan; their trials are not in `jobs`, as most are meant to fail.
        errors: Errors of plans that could not run, by plan.
        fail_incomplete: Whether a job that is not complete is a failure.
    """
    root = ElementTree.Element("testsuites", name="fabricbench")
    for plan, group in groupby(jobs, key=lambda job: job.trial.facts.plan):
        cases = [_case(job, jobs, fail_incomplete=fail_incomplete) for job in group]
        _add_suite(root, plan, cases)
    for plan, results in searches.items():
        _add_suite(root, plan, [_search_case(plan, result) for result in results])
    for plan, text in errors.items():
        case = ElementTree.Element("testcase", classname=plan, name="run")
        ElementTree.SubElement(case, "error", message=text)
        _add_suite(root, plan, [case])
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suite(root: ElementTree.Element, plan: str, cases: Sequence[ElementTree.Element]) -> None:
    def number(tag: str) -> str:
        return str(sum(case.find(tag) is not None for case in cases))

    time_s = sum(float(case.get("time", "0")) for case in cases)
    counts = {"failures": number("failure"), "errors": number("error"), "skipped": number("skipped")}
    attributes = {"name": plan, "tests": str(len(cases))} | counts | {"time": f"{time_s:.3f}"}
    suite = ElementTree.SubElement(root, "testsuite", attributes)
    suite.extend(cases)


def _search_case(plan: str, result: Searched) -> ElementTree.Element:
    name = f"{result.field}, {result.label}" if result.label else result.field
    case = ElementTree.Element("testcase", classname=plan, name=name)
    if result.holds is None:
        ElementTree.SubElement(case, "failure", type="search", message=result.text)
    return case


def _case(job: JobReport, jobs: Sequence[JobReport], *, fail_incomplete: bool) -> ElementTree.Element:
    label = trial_label(job, jobs)
    name = f"{job.summary.job}, {label}" if label else job.summary.job
    wall_s = float(job.trial.engine.get("wall_s") or 0)
    case = ElementTree.Element("testcase", classname=job.trial.facts.plan, name=name, time=f"{wall_s:.3f}")
    properties = ElementTree.SubElement(case, "properties")
    ElementTree.SubElement(properties, "property", name="trial", value=job.trial.id)
    for judgement in job.judgements:
        value = "" if judgement.value is None else f"{judgement.value:.6g}"
        ElementTree.SubElement(properties, "property", name=judgement.metric, value=value)
        if not judgement.passed:
            ElementTree.SubElement(case, "failure", type="criterion", message=missed_text(job, judgement))
    text = f"the job is {job.summary.status}"
    if not job.is_complete and fail_incomplete:
        ElementTree.SubElement(case, "failure", type="incomplete", message=text)
    elif not job.is_complete and not job.judgements:
        ElementTree.SubElement(case, "skipped", message=text)
    return case
