"""Base class of the errors that a user can fix: a message and a hint, and their text for the user."""


class UserError(Exception):
    """An error that the user can fix; every other exception is a bug of fabricbench.

    Attributes:
        hint: How to fix it; may be empty.
    """

    hint: str = ""

    def text(self) -> str:
        """Return the text for the user: the message, then the hint."""
        return f"error: {self}" + (f"\nhint: {self.hint}" if self.hint else "")
