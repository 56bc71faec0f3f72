"""Words that every part uses: counts with their nouns."""


def counted(number: int, noun: str) -> str:
    """Write a count with its noun, in the plural unless it is 1."""
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    """Write the noun of a count, in the plural unless it is 1."""
    return noun if number == 1 else f"{noun}s"
