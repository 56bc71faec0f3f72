"""Extracts imported switch configurations from a trial's overrides (changed plan fields).

Each has the values from the configuration file, and the settings that are not modelled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_FIELD: Final = "fabric.switch.config"


@dataclass(frozen=True)
class Configuration:
    """A switch configuration that a plan or a variant of it uses.

    Attributes:
        variant: The variant; empty for the plan itself.
        record: `fabric.switch.config` with the values from the file.
    """

    variant: str
    record: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Its file, and its variant."""
        of = f" of variant {self.variant}" if self.variant else ""
        files = self.record["file"]
        if isinstance(files, dict):
            files = [f"{switches}: {name}" for switches, name in files.items()]
        return f"Switches{of} set up by {files if isinstance(files, str) else ', '.join(map(str, files))}"

    @property
    def lines(self) -> Iterator[str]:
        """Its values and omissions, one per line."""
        if self.record.get("sha256"):
            yield f"SHA-256 {self.record['sha256']}"
        others = self.record.get("others")
        for switches, values in (others or {"": self.record["values"]}).items():
            for field, value in values.items():
                text = json.dumps(value).replace('"', "") if isinstance(value, dict | list) else value
                yield f"{switches}: {field}: {text}" if switches else f"{field}: {text}"
        yield from (f"differs: {text}" for text in self.record.get("differs", ()))
        yield from (f"not modelled: {text}" for text in self.record.get("not_modelled", ()))


def configurations(overrides: Iterable[str]) -> tuple[list[Configuration], list[str]]:
    """Split the overrides of a trial into configurations and others."""
    parsed, others = [], []
    for override in overrides:
        configuration = _configuration(override)
        if configuration is None:
            others.append(override)
        else:
            parsed.append(configuration)
    return parsed, others


def _configuration(override: str) -> Configuration | None:
    field, _, text = override.partition("=")
    if not field.endswith(_FIELD) or '"values"' not in text:
        return None
    try:
        record = json.loads(text)
    except ValueError:
        return None  # YAML written by a user
    if not isinstance(record, dict) or not isinstance(record.get("values"), dict) or "file" not in record:
        return None
    variant = field.removesuffix(_FIELD).removeprefix("variants.").removesuffix(".set.")
    return Configuration(variant, record)
