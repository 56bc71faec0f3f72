"""Audits the dependencies: licences and sources of crates, known vulnerabilities of crates and packages.

It says for each question what data answered it and of which date. Exit status: 0 when all were answered and
nothing was found, 1 when something was found, 2 when something could not be looked at: no answer is not a
good answer.
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
"""A release with vulnerabilities that are long known: an index that tells none of them has no such data."""

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Answer:
    """What came of one question.

    Attributes:
        question: What was asked.
        data: What answered, with its date.
        findings: What was found.
        gap: Why it could not be answered; empty if it was.
    """

    question: str
    data: str
    findings: tuple[str, ...] = ()
    gap: str = ""

    def __str__(self) -> str:
        state = f"not looked at: {self.gap}" if self.gap else f"{len(self.findings)} found"
        return "\n".join(
            [f"{self.question}: {state} ({self.data})", *(f"  {each}" for each in self.findings)]
        )


def rust_rules(run: Run) -> Answer:
    """Ask whether each crate has a licence and a source that deny.toml allows."""
    question, data = "licences, bans and sources of crates", "Cargo.lock as it is"
    return _of_cargo_deny(
        question, data, run(["cargo", "deny", "--format", "json", "check", "licenses", "bans", "sources"])
    )


def rust_advisories(run: Run, databases: Path) -> Answer:
    """Ask RustSec about each crate: as it is now, or else as it was when it was fetched last."""
    question, name = "vulnerabilities of crates", "RustSec advisory-db"
    command = ["cargo", "deny", "--format", "json", "check", "--disable-fetch", "advisories"]
    newest = run([each for each in command if each != "--disable-fetch"])
    found = _of_cargo_deny(question, f"{name} of {_today()}", newest)
    if not found.gap:
        return found
    kept = [each for each in databases.glob("*") if (each / ".git").is_dir()]
    if not kept:
        return found
    date = max(run(["git", "-C", str(each), "log", "-1", "--format=%cs"]).stdout.strip() for each in kept)
    return _of_cargo_deny(question, f"{name} of {date}, which is the newest here", run(command))


def _of_cargo_deny(question: str, data: str, finished: "subprocess.CompletedProcess[str]") -> Answer:
    """Read what cargo-deny writes: a line of JSON for each diagnostic, and one for the sum of them."""
    lines = [json.loads(line) for line in finished.stderr.splitlines() if line.startswith("{")]
    errors = [line["fields"] for line in lines if line["fields"].get("severity") == "error"]
    if not any(line["type"] == "summary" for line in lines):
        logged = [line["fields"]["message"] for line in lines if line["fields"].get("level") == "ERROR"]
        return Answer(
            question,
            data,
            gap=(logged or [finished.stderr.strip() or "cargo-deny said nothing"])[-1].splitlines()[0],
        )
    found = tuple(f"{_crate(each)}: {each['message']}" for each in errors)
    if finished.returncode and not found:
        found = (f"cargo-deny ended with exit status {finished.returncode}",)
    return Answer(question, data, found)


def _crate(diagnostic: Any) -> str:
    krates = [graph["Krate"] for graph in diagnostic.get("graphs", []) if "Krate" in graph]
    return ", ".join(f"{each['name']} {each['version']}" for each in krates) or "a crate"


def python_advisories(run: Run) -> Answer:
    """Ask the package index about each package of the lock file, if it knows of vulnerabilities at all."""
    question, data = f"vulnerabilities of the packages in {LOCK.name}", f"the package index, {_today()}"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(f"{KNOWN}\n")
        file.flush()
        known = _pip_audit(run, file.name, "--no-deps")
    if not any(each.get("vulns") for each in known):
        return Answer(question, data, gap=f"it knows no vulnerability of {KNOWN}, so it has no such data")
    audited = _pip_audit(run, str(LOCK), "--require-hashes")
    left_out = [each for each in audited if "skip_reason" in each]
    gap = (
        f"{len(left_out)} packages, such as {left_out[0]['name']}: {left_out[0]['skip_reason']}"
        if left_out
        else ""
    )
    return Answer(
        question, data, tuple(_vulnerabilities(audited)), gap if audited else "pip-audit named no package"
    )


def _pip_audit(run: Run, file: str, *options: str) -> list[Any]:
    """Return what pip-audit says of each package of a file; nothing if it could not."""
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
    for each in audited:
        for vulnerability in each.get("vulns", []):
            fixed = ", ".join(vulnerability["fix_versions"]) or "nothing yet"
            yield f"{each['name']} {each['version']}: {vulnerability['id']}, mended by {fixed}"


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def exit_status(answers: Sequence[Answer]) -> int:
    """Return 1 when anything was found, else 2 when anything was not looked at, else 0."""
    if any(answer.findings for answer in answers):
        return 1
    return 2 if any(answer.gap for answer in answers) else 0


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def main() -> int:
    """Ask everything, print the answers and return the exit status."""
    databases = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "advisory-dbs"
    try:
        answers = [rust_rules(_run), rust_advisories(_run, databases), python_advisories(_run)]
    except FileNotFoundError as error:
        hint = "cargo install --locked cargo-deny && pip install pip-audit"
        sys.stderr.write(f"error: make audit needs {error.filename}\nhint: {hint}\n")
        return 2
    for answer in answers:
        sys.stdout.write(f"{answer}\n")
    return exit_status(answers)


if __name__ == "__main__":
    sys.exit(main())
