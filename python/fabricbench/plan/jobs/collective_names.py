"""Types of names of collectives and algorithms: converts other spellings to the engine's names."""

from typing import Annotated

from pydantic import BeforeValidator

from fabricbench.plan import engine
from fabricbench.plan.jobs import STORAGE
from fabricbench.words import same_name


def _collective(value: object) -> object:
    return same_name(value, [*engine.algorithms(), STORAGE]) or value


def _algorithm(value: object) -> object:
    return same_name(value, {name for names in engine.algorithms().values() for name in names}) or value


CollectiveName = Annotated[str, BeforeValidator(_collective)]
AlgorithmName = Annotated[str, BeforeValidator(_algorithm)]
