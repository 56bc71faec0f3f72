"""What users hand in: how a damaged one is made of a sound one, and what must come of it."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema
from ruamel.yaml import YAML
from tests.fuzz import agents, mutate

from fabricbench import _core
from fabricbench.cli.main import run
from fabricbench.plan import engine
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.load import load_plan

_MEMORY_MAX_BYTES: Final = 1 << 30
"""What the check of a run spec may be estimated to take; beyond it a plan gets no further either."""


@dataclass(frozen=True)
class Case:
    """One thing handed in.

    Attributes:
        content: What stands in the file.
        arguments: What stands behind it on the command line.
    """

    content: bytes
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """Something that reads what users hand in.

    Attributes:
        make: Makes a case.
        judge: Hands it in within a folder, and returns what is wrong with the answer; empty if nothing is.
    """

    make: Callable[[random.Random], Case]
    judge: Callable[[Case, Path], str]


@cache
def _plan_texts() -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8") for path in shipped_plans().values())


@cache
def _plans() -> tuple[Any, ...]:
    return tuple(YAML(typ="safe", pure=True).load(text) for text in _plan_texts())


def _some_plan(draw: random.Random) -> bytes:
    how = draw.random()
    if how < 0.01:
        return mutate.too_long(draw, draw.choice(_plan_texts()))
    if how < 0.45:
        return mutate.damaged(draw, draw.choice(_plan_texts()))
    changed = mutate.mutated(draw, draw.choice(_plans()), _plans())
    return mutate.written(changed).encode("utf-8", "surrogatepass")


def _plan(draw: random.Random) -> Case:
    return Case(_some_plan(draw), draw.choice([(), (), (), ("--variant", "x" * 300)]))


def _overridden(draw: random.Random) -> Case:
    """Take a sound plan, and overrides of fields that it has, might have or never has."""
    index = draw.randrange(len(_plans()))
    document = _plans()[index]
    known = [path for path in mutate.paths(document) if path]
    arguments: list[str] = []
    for _ in range(draw.choice([1, 1, 2, 5])):
        field = ".".join(map(str, draw.choice(known)))
        if draw.random() < 0.4:
            field = mutate.damaged(draw, field).decode("utf-8", "surrogateescape")
        if draw.random() < 0.05:
            field = ".".join([field] * draw.choice([10, 3_000]))
        value = mutate.written(mutate.mutated(draw, mutate.wrong(draw), _plans()))
        if draw.random() < 0.3:
            value = mutate.damaged(draw, value[:2_000]).decode("utf-8", "surrogateescape")
        arguments += [draw.choice(["-s", "--set"]), f"{field}{draw.choice(['=', '=', '=', '', '=='])}{value}"]
    return Case(_plan_texts()[index].encode(), tuple(arguments))


def _judge_plan(case: Case, folder: Path) -> str:
    """Check a plan as the program does."""
    file = folder / "plan.yaml"
    file.write_bytes(case.content)
    output, errors = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", errors=kind) for kind in ("strict", "backslashreplace")
    )
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = run(["--debug", "plan", "check", str(file), *case.arguments])
    return judgement(status, _read(output), _read(errors), str(file))


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def judgement(status: int, output: str, errors: str, file: str) -> str:
    """Return what is wrong with what the program said; empty if nothing is."""
    if status not in (0, 2):
        return f"exit status {status}: {errors[-3_000:]}"
    if status == 0:
        return (
            ""
            if output.startswith("ok: ") and "error:" not in errors
            else f"no clear answer: {output!r} {errors!r}"
        )
    lines = errors.splitlines()
    strange = [line for line in lines if not line.startswith(("error: ", "hint: ", "warning: "))]
    if output or not lines or strange:
        return f"no clear error: {output!r} {strange[:5]!r}"
    said = [line for line in lines if line.startswith("error: ") and not line.startswith("error: and ")]
    nameless = [
        line
        for line in said
        if not line.startswith((f"error: {file}", "error: -s ", "error: --", "error: the argument "))
    ]
    if nameless:
        return f"an error that names no file and no option: {nameless[:5]!r}"
    if max(map(len, lines)) > 4_000 or len(errors) > 200_000:
        return (
            f"an error of {len(errors)} characters, its longest line {max(map(len, lines))}: {errors[:500]!r}"
        )
    return ""


@cache
def _specs() -> tuple[Any, ...]:
    """Return the first run spec of every shipped plan."""
    return tuple(json.loads(load_plan(name).trials[0].spec_json) for name in shipped_plans())


def _spec(draw: random.Random) -> Case:
    sound = draw.choice(_specs())
    if draw.random() < 0.2:
        return Case(mutate.damaged(draw, json.dumps(sound)))
    return Case(mutate.written(mutate.mutated(draw, sound, _specs())).encode("utf-8", "surrogatepass"))


def _judge_spec(case: Case, _folder: Path) -> str:
    """Let the engine read, estimate and check a run spec; whatever it takes is of the schema's shape."""
    try:
        text = case.content.decode()
        estimate = engine.estimate(text)
    except UnicodeDecodeError:
        return ""  # no Python text, which is all that the engine takes
    if estimate is None:
        refusals = engine.check(text)
        nameless = [error for error in refusals if not (error.found or error.allowed)]
        if nameless:
            return f"a refusal without a reason: {nameless[0]!r}"
        return "" if refusals else "a run spec that is not estimated is taken"
    if estimate["memory_bytes"] > _MEMORY_MAX_BYTES:
        return ""
    refusal = engine.check(text)
    return "" if refusal else _beyond_schema(json.loads(text))


@cache
def _validator() -> Any:
    return jsonschema.Draft202012Validator(json.loads(_core.run_spec_schema()))


def _beyond_schema(spec: Any) -> str:
    error = next(_validator().iter_errors(spec), None)
    return "" if error is None else f"the engine takes what its schema refuses: {error.message[:300]}"


def _judge_agent(case: Case, _folder: Path) -> str:
    return agents.judge_calls(case.content)


TARGETS: Final = {
    "plans": Target(_plan, _judge_plan),
    "overrides": Target(_overridden, _judge_plan),
    "specs": Target(_spec, _judge_spec),
    "agents": Target(lambda draw: Case(agents.make_calls(draw)), _judge_agent),
}
