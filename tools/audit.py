"""Audits the dependencies: licences and sources of crates, known vulnerabilities of crates and packages.

Each answer has its data source and date. Exit status: 0 if all questions were answered without findings, 1
with findings, 2 if a question could not be answered: an unanswered question is not a success.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
LOCK: Final = ROOT / "requirements.lock"
KNOWN: Final = "jinja2==2.4.1"
"""A release with old, published vulnerabilities: an index that lists none of them has no such data."""

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Answer:
    """Answer to one question about the dependencies.

    Attributes:
        question: The subject, such as the licences of crates.
        data: Source of the answer, with its date.
        findings: Violations or vulnerabilities.
        gap: Reason why there is no answer; empty otherwise.
    """

    question: str
    data: str
    findings: tuple[str, ...] = ()
    gap: str = ""

    def __str__(self) -> str:
        state = f"not looked at: {self.gap}" if self.gap else f"{len(self.findings)} found"
        return "\n".join(
            [f"{self.question}: {state} ({self.data})", *(f"  {finding}" for finding in self.findings)]
        )


def rust_rules(run: Run) -> Answer:
    """Check that each crate has a licence and a source that deny.toml allows."""
    question, data = "licences, bans and sources of crates", "Cargo.lock as it is"
    return _of_cargo_deny(
        question, data, run(["cargo", "deny", "--format", "json", "check", "licenses", "bans", "sources"])
    )


def rust_advisories(run: Run, databases: Path) -> Answer:
    """Check each crate with the RustSec database: the current one, or else the last one fetched."""
    question, name = "vulnerabilities of crates", "RustSec advisory-db"
    command = ["cargo", "deny", "--format", "json", "check", "--disable-fetch", "advisories"]
    newest_run = run([argument for argument in command if argument != "--disable-fetch"])
    newest_answer = _of_cargo_deny(question, f"{name} of {_today()}", newest_run)
    if not newest_answer.gap:
        return newest_answer
    clones = [clone for clone in databases.glob("*") if (clone / ".git").is_dir()]
    if not clones:
        return newest_answer
    date = max(run(["git", "-C", str(clone), "log", "-1", "--format=%cs"]).stdout.strip() for clone in clones)
    return _of_cargo_deny(question, f"{name} of {date}, which is the newest here", run(command))


def _of_cargo_deny(question: str, data: str, finished: "subprocess.CompletedProcess[str]") -> Answer:
    """Read the output of cargo-deny: a line of JSON for each diagnostic, and one with their sums."""
    lines = [json.loads(line) for line in finished.stderr.splitlines() if line.startswith("{")]
    errors = [line["fields"] for line in lines if line["fields"].get("severity") == "error"]
    if not any(line["type"] == "summary" for line in lines):
        logged = [line["fields"]["message"] for line in lines if line["fields"].get("level") == "ERROR"]
        return Answer(
            question,
            data,
            gap=(logged or [finished.stderr.strip() or "cargo-deny said nothing"])[-1].splitlines()[0],
        )
    findings = tuple(f"{_crate(error)}: {error['message']}" for error in errors)
    if finished.returncode and not findings:
        findings = (f"cargo-deny ended with exit status {finished.returncode}",)
    return Answer(question, data, findings)


def _crate(diagnostic: Any) -> str:
    krates = [graph["Krate"] for graph in diagnostic.get("graphs", []) if "Krate" in graph]
    return ", ".join(f"{krate['name']} {krate['version']}" for krate in krates) or "a crate"


def python_advisories(run: Run) -> Answer:
    """Check each package of the lock file with the package index, if the index has vulnerabilities at all."""
    question, data = f"vulnerabilities of the packages in {LOCK.name}", f"the package index, {_today()}"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(f"{KNOWN}\n")
        file.flush()
        known_release = _pip_audit(run, file.name, "--no-deps")
    if not any(package.get("vulns") for package in known_release):
        return Answer(question, data, gap=f"it knows no vulnerability of {KNOWN}, so it has no such data")
    audited = _pip_audit(run, str(LOCK), "--require-hashes")
    skipped = [package for package in audited if "skip_reason" in package]
    gap = (
        f"{len(skipped)} packages, such as {skipped[0]['name']}: {skipped[0]['skip_reason']}"
        if skipped
        else ""
    )
    return Answer(
        question, data, tuple(_vulnerabilities(audited)), gap if audited else "pip-audit named no package"
    )


def _pip_audit(run: Run, file: str, *options: str) -> list[Any]:
    """Return pip-audit's report on each package of a file; empty if it failed."""
    command = [
        "pip-audit",
        "--requirement",
        file,
        "--disable-pip",
        "--format",
        "json",
        "--progress-spinner",
        "off",
    ]
    try:
        return list(json.loads(run([*command, *options]).stdout)["dependencies"])
    except ValueError:
        return []


def _vulnerabilities(audited: Sequence[Any]) -> Iterator[str]:
    for package in audited:
        for vulnerability in package.get("vulns", []):
            fixed = ", ".join(vulnerability["fix_versions"]) or "nothing yet"
            yield f"{package['name']} {package['version']}: {vulnerability['id']}, mended by {fixed}"


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def exit_status(answers: Sequence[Answer]) -> int:
    """Return 1 with findings, else 2 with an unanswered question, else 0."""
    if any(answer.findings for answer in answers):
        return 1
    return 2 if any(answer.gap for answer in answers) else 0


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def main() -> int:
    """Run all checks, print their answers and return the exit status."""
    databases = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "advisory-dbs"
    try:
        answers = [rust_rules(_run), rust_advisories(_run, databases), python_advisories(_run)]
    except FileNotFoundError as error:
        hint = "cargo install --locked cargo-deny && pip install pip-audit"
        sys.stderr.write(f"error: the audit needs {error.filename}\nhint: {hint}\n")
        return 2
    for answer in answers:
        sys.stdout.write(f"{answer}\n")
    return exit_status(answers)


if __name__ == "__main__":
    sys.exit(main())
