"""Writes values as YAML."""

import io
from typing import Any


def yaml_text(values: Any, *, flow_style: bool | None = False) -> str:
    """Return values as YAML, in their order; with flow style None the innermost mappings are on one line."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = flow_style
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 4000
    text = io.StringIO()
    yaml.dump(values, text)
    return text.getvalue()
