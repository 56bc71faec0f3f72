"""What goes wrong with a lab, for the user to mend."""

from __future__ import annotations


class LabError(Exception):
    """A lab that cannot be made, found or used.

    Attributes:
        hint: What to do.
    """

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint
