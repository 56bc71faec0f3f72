"""Every public name of the Python interface has an example, and every example shows what it says."""

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import fabricbench as fb
from fabricbench import api

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented() -> Iterator[tuple[str, object]]:
    """Yield every public name of the interface, methods and properties included."""
    for name in fb.__all__:
        item = getattr(fb, name)
        if isinstance(item, str) or (inspect.isclass(item) and issubclass(item, Exception)):
            continue
        yield name, item
        if inspect.isclass(item):
            members = inspect.getmembers(item)
            yield from (
                (f"{name}.{member}", value)
                for member, value in members
                if not member.startswith("_") and (callable(value) or hasattr(value, "__get__"))
                if "fabricbench" in str(getattr(_function(value), "__module__", ""))
            )


def _function(member: object) -> object:
    return getattr(member, "fget", None) or getattr(member, "func", None) or member


def examples() -> Iterator[doctest.DocTest]:
    for module in pkgutil.iter_modules(api.__path__, "fabricbench.api."):
        yield from doctest.DocTestFinder().find(importlib.import_module(module.name))


@pytest.mark.parametrize("name", [name for name, _ in documented()])
def test_every_public_name_has_an_example(name: str) -> None:
    item = dict(documented())[name]
    assert ">>>" in (inspect.getdoc(item) or ""), f"{name} has no example"


@pytest.mark.parametrize(
    "example", [each for each in examples() if each.examples], ids=lambda each: each.name
)
def test_examples_show_what_they_say(
    example: doctest.DocTest,
    run: fb.Trials,
    campaign: fb.Campaign,
    expected: fb.Expected,
    degraded: fb.Degraded,
    explained: fb.Explained,
    tuned: fb.Tuned,
    workspace: Path,
) -> None:
    example.globs = {
        "run": run,
        "campaign": campaign,
        "expected": expected,
        "degraded": degraded,
        "explained": explained,
        "tuned": tuned,
        "workspace": workspace,
    }
    told: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=told.append)
    assert outcome.failed == 0, "".join(told)
