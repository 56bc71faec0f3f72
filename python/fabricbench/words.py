"""Words that every part uses: counts with their nouns, and what a user wrote as one line of a message."""


def one_line(text: str, length_max: int) -> str:
    """Write what a user wrote as part of one line: nothing that a terminal acts on, and not without end.

    Line ends, control characters, marks that turn the direction of text, and halves of surrogate pairs are
    written as escapes. Of what is too long the middle is left out.
    """
    if len(text) > length_max:
        end = length_max // 4
        text = f"{text[: length_max - end - 3]}...{text[-end:]}"
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )


def counted(number: int, noun: str) -> str:
    """Write a count with its noun, in the plural unless it is 1."""
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    """Write the noun of a count, in the plural unless it is 1."""
    return noun if number == 1 else f"{noun}s"
