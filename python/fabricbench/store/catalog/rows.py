"""Validation of catalog rows on import and on every read: types, ranges and JSON.

A database may contain rows that no version of this program has written: edited rows, or rows of a forged
archive. The problem of each row is reported, so that it can be ignored without the others.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NoReturn

from fabricbench.metrics import JobKind
from fabricbench.store.catalog.schema import (
    COMPLETE,
    FAILED,
    FINISHED,
    INCOMPLETE,
    INTERRUPTED,
    RUNNING,
    TRIAL_COLUMNS,
    Column,
)

TRIAL_ID: Final = re.compile(r"[0-9a-f]{12}")
RECORD_NAME: Final = re.compile(r"([0-9a-f]{12})\.[0-9a-f]{12}")
"""Name of a record at a location: the trial's id and a random token of the attempt."""
_STATES: Final = (RUNNING, COMPLETE, INCOMPLETE, INTERRUPTED, FAILED)
_SIZE_KINDS: Final = ("data", "message")
_POINTS: Final = ("fabric", "device", "endpoint")
"""Possible observation points of rows."""
_TEXT_LENGTH_MAX: Final = 60
_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1
_TIMES: Final = ("started_at", "ended_at", "placed_at")
_TEXTS_OF_RESULTS: Final = frozenset({"id", "plan", "variant", "job", "collective", "status", "reason"})
_COUNTS_OF_RESULTS: Final = frozenset({"ranks", "data_size_bytes"})
_OPTIONAL_TEXTS_OF_RESULTS: Final = frozenset({"algorithm"})
_REQUIRED_OF_RESULTS: Final = frozenset({"job", "collective", "status", "reason"}) | _COUNTS_OF_RESULTS


class RowError(Exception):
    """A row with an invalid value; the message has the column, the value and the allowed values."""


def checked_row(row: Mapping[str, Any], columns: Iterable[str] | None = None) -> dict[str, Any]:
    """Check a row of `trials`, or some columns of it, and return the parsed values of its JSON columns.

    Raises:
        RowError: A value has the wrong type, is out of range, or is not valid JSON for its column.
    """
    names = list(TRIAL_COLUMNS if columns is None else columns)
    for name in names:
        _check_type(name, TRIAL_COLUMNS[name], row[name])
    for name in names:
        _check_meaning(name, row[name])
    if "status" in names and row["status"] in FINISHED:
        for name in ("ended_at", "summary", "results"):
            if row[name] is None:
                raise _invalid_value(name, None, f"a value, since the trial is {row['status']}")
    return {name: _parsed(name, row[name]) for name in _JSON if name in names}


def is_record_url(url: object) -> bool:
    """Return whether a value of the column `tables` is the URL of a record, which may be read and removed."""
    return isinstance(url, str) and RECORD_NAME.fullmatch(url.rpartition("/")[2]) is not None


def _check_type(name: str, column: Column, value: object) -> None:
    """Check the type of a value, and that both databases can store it."""
    if value is None:
        if not column.is_nullable:
            raise _invalid_value(name, value, "a value")
        return
    if column.is_integer:
        value_max = _INT64_MAX if column.type == "BIGINT" else _INT32_MAX
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= value_max:
            raise _invalid_value(name, value, f"an integer from 0 to {value_max:,}")
        return
    _check_text(name, column, value)


def _check_text(name: str, column: Column, value: object) -> None:
    length_max = column.length_max
    if not isinstance(value, str) or (length_max is not None and len(value) > length_max):
        raise _invalid_value(
            name, value, "a text" + (f" of at most {length_max} characters" if length_max else "")
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _invalid_value(name, value, "a text in UTF-8") from error


def _check_meaning(name: str, value: Any) -> None:
    """Check a value of the right type against the allowed values."""
    if name in _ALLOWED and value not in _ALLOWED[name]:
        raise _invalid_value(name, value, " or ".join(_ALLOWED[name]))
    if name == "id" and not TRIAL_ID.fullmatch(value):
        raise _invalid_value(name, value, "12 hexadecimal digits")
    if name == "tables" and value is not None and not is_record_url(value):
        raise _invalid_value(name, value, "the URL of a record")
    if name in _TIMES and value is not None:
        try:
            datetime.fromisoformat(value)
        except ValueError as error:
            raise _invalid_value(name, value, "a time, ISO 8601") from error


def _parsed(name: str, text: str | None) -> Any:
    """Return the parsed value of a JSON column after checking its structure."""
    if text is None:
        return None
    has_structure, allowed = _JSON[name]
    try:
        parsed = json.loads(text, parse_constant=_refuse)
        is_allowed = has_structure(parsed)
    except (ValueError, RecursionError) as error:
        raise RowError(f"{name} is no JSON: {error}") from error
    if not is_allowed:
        raise _invalid_value(name, text, f"JSON: {allowed}")
    return parsed


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _is_number(value: object) -> bool:
    """Return whether a value is a finite number that both databases and all readers can represent."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**64


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | bool) or _is_number(value)


def _is_sound(value: object) -> bool:
    """Return whether all numbers of a value are finite, including nested ones."""
    if isinstance(value, dict):
        return all(map(_is_sound, value.values()))
    if isinstance(value, list):
        return all(map(_is_sound, value))
    return _is_scalar(value)


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and _is_sound(value)


def _is_spec(value: object) -> bool:
    """Return whether a value may be a RunSpec: named jobs with known kinds of work, no more is checked."""
    return isinstance(value, dict) and _has_named_jobs(value) and all(map(_has_known_work, value["jobs"]))


def _has_known_work(job: Mapping[str, Any]) -> bool:
    """Return whether a job has work of a known kind, or none: those of earlier versions and measured ones."""
    work = job.get("work", {"kind": JobKind.COLLECTIVE})
    return isinstance(work, dict) and work.get("kind") in list(JobKind)


def _is_summary(value: object) -> bool:
    if not (_is_object(value) and isinstance(value, dict) and _has_named_jobs(value)):
        return False
    notes = value.get("notes", [])
    return isinstance(notes, list) and all(isinstance(note, str) for note in notes)


def _has_named_jobs(value: Mapping[str, Any]) -> bool:
    jobs = value.get("jobs")
    return isinstance(jobs, list) and all(
        isinstance(job, dict) and isinstance(job.get("name"), str) for job in jobs
    )


def _is_results(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) and _is_result(row) for row in value)


def _is_result(row: Mapping[str, Any]) -> bool:
    return row.keys() >= _REQUIRED_OF_RESULTS and all(_fits_result(*item) for item in row.items())


def _fits_result(name: str, value: object) -> bool:
    if name in _TEXTS_OF_RESULTS:
        return isinstance(value, str)
    if name in _OPTIONAL_TEXTS_OF_RESULTS:
        return value is None or isinstance(value, str)
    if name in _COUNTS_OF_RESULTS:
        return isinstance(value, int) and _is_number(value) and value >= 0
    return value is None or _is_number(value)


def _is_criterion(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("metric"), str)
        and all(value.get(bound) is None or _is_number(value[bound]) for bound in ("min", "max"))
        and (value.get("job") is None or isinstance(value["job"], str))
    )


def _is_published(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("values"), dict):
        return False
    texts = all(isinstance(value.get(name), str) for name in ("table", "source"))
    return texts and _is_sound(value) and all(map(_is_scalar, value["values"].values()))


def _is_axis(value: object) -> bool:
    """Return whether a value is a swept field with its value."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _is_sound(value)


def _is_observed(value: object) -> bool:
    """Return whether a value has the observed tables of a record with observation points and null columns."""
    return isinstance(value, dict) and all(
        isinstance(observation, dict)
        and observation.get("at") in _POINTS
        and _are_texts(observation.get("unmeasured"))
        for observation in value.values()
    )


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_list_of(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


_ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {"status": _STATES, "size_kind": _SIZE_KINDS}
_JSON: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "overrides": (_is_list_of(lambda item: isinstance(item, str)), "a list of texts"),
    "run_spec": (_is_spec, "a RunSpec, whose jobs have names and work of a known kind"),
    "published": (_is_published, "an object with table, source and values"),
    "criteria": (_is_list_of(_is_criterion), "a list of objects with metric, min, max and job"),
    "summary": (_is_summary, "an object of finite numbers, whose jobs have names and whose notes are texts"),
    "results": (_is_results, "a list of objects with job, status and finite numbers"),
    "engine": (_is_object, "an object of finite numbers"),
    "machine": (_is_object, "an object"),
    "axes": (_is_list_of(_is_axis), "a list of fields, each with its value"),
    "observed": (_is_observed, "an object with `at` and `unmeasured` of tables"),
    "digests": (_is_object, "an object with the digests of tables"),
}


def _invalid_value(name: str, value: object, allowed: str) -> RowError:
    value_text = ascii(value)
    value_text = value_text if len(value_text) <= _TEXT_LENGTH_MAX else f"{value_text[:_TEXT_LENGTH_MAX]}..."
    return RowError(f"{name}: found {value_text}, allowed is {allowed}")
