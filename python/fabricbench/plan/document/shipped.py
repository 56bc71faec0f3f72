"""Finds plans, suites and tables of published results: those that fabricbench ships, or files of the user."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from fabricbench.plan.document.nodes import first_scalar
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.words import close_match_hint

_PLANS: Final = Path(__file__).parents[2] / "plans"
_PUBLISHED: Final = _PLANS / "published"
_SUITES: Final = _PLANS / "suites"

NO_FILE: Final = Path("<no file>")
"""Path of a plan that was not read from a file: relative names in it cannot be resolved."""


def shipped_plans() -> dict[str, Path]:
    """Return the shipped plans by name, in the order of the names."""
    plan_paths = (path for path in _PLANS.glob("*/*.yaml") if path.parent != _SUITES)
    return {path.stem: path for path in sorted(plan_paths, key=lambda path: path.stem)}


def shipped_titles() -> dict[str, str]:
    """Return the titles of the shipped plans by name, without loading the plans."""
    return shipped_texts("title")


def shipped_texts(field: str) -> dict[str, str]:
    """Return a text field of the shipped plans by name, without loading the plans."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in shipped_plans().items()}
    return {name: first_scalar(text, field) or "" for name, text in texts.items()}


def shipped_suites() -> dict[str, Path]:
    """Return the shipped suites of plans by name, in the order of the names."""
    return {path.stem: path for path in sorted(_SUITES.glob("*.yaml"))}


def published_tables() -> dict[str, Path]:
    """Return the shipped tables of published results by file name."""
    return {path.name: path for path in sorted(_PUBLISHED.glob("*.csv"))}


def find_plan(name: str) -> tuple[Path, str]:
    """Find the plan that a user names.

    Args:
        name: A shipped plan's name, or a file. Anything with a folder or a suffix is a file.

    Returns:
        The file, and its name in errors.

    Raises:
        PlanError: There is no such plan.
    """
    return find_named(name, shipped_plans(), "plan", "`fabricbench plans` lists the shipped plans")


def find_suite(name: str) -> tuple[Path, str]:
    """Find the suite that a user names: as `find_plan` does, among the shipped suites.

    Raises:
        PlanError: There is no such suite.
    """
    suites = shipped_suites()
    return find_named(name, suites, "suite", f"shipped are: {', '.join(suites)}")


def find_named(name: str, shipped: Mapping[str, Path], noun: str, default_hint: str) -> tuple[Path, str]:
    """Find a file that a user names: one of the shipped ones, or a file of the user.

    Args:
        name: A shipped one's name, or a file. Anything with a folder or a suffix is a file.
        shipped: The shipped files by name.
        noun: What the files are, in errors.
        default_hint: Hint of the error where no name is near.

    Returns:
        The file, and its name in errors.

    Raises:
        PlanError: There is no such file.
    """
    path = Path(name)
    is_plain = path.name == name and path.suffix not in (".yaml", ".yml")
    if is_plain and name in shipped:
        return shipped[name], name
    if name and "\0" not in name and _may_be_there(path):
        return path, name
    hint = close_match_hint(path.stem, shipped) or default_hint
    allowed = f"a shipped {noun}'s name, or a file"
    raise PlanError([Problem(Place(name or '""'), "", f"no such {noun}", allowed, hint)])


def _may_be_there(path: Path) -> bool:
    """Whether a file exists; true if that cannot be checked, as reading it then gives the reason."""
    try:
        return path.exists()
    except OSError:
        return True


def find_published(name: str, plan_path: Path) -> Path | None:
    """Find a table of published results: next to the plan, or else shipped; none if there is none."""
    local_path = plan_path.parent / name
    with suppress(OSError):  # as a name that is too long
        if plan_path != NO_FILE and "\0" not in name and local_path.is_file():
            return local_path
    return published_tables().get(name)
