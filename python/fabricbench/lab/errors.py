"""`LabError`: an error of a lab that the user can fix, with a hint how."""

from __future__ import annotations

from fabricbench.errors import UserError


class LabError(UserError):
    """A lab that does not exist, or cannot be created or used.

    Attributes:
        hint: How to fix it.
    """

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint
