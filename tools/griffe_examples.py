"""Extension of griffe: shows `Example` sections of docstrings as code, as griffe only supports `Examples`."""

from typing import Any

import griffe


class ExamplesExtension(griffe.Extension):
    """Reads a section `Example` as `Examples`."""

    def on_object(self, *, obj: griffe.Object, **_kwargs: Any) -> None:
        """Change the docstring of each object as it is read."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
