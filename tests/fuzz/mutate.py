"""Damages documents: what a user could mistype, what an attacker would write, and what a bad disk leaves."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Raw:
    """Text that stands in a document as it is, such as a number that no Python value has."""

    text: str


WRONG: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2, 7, 255, 65_535, 65_536, 1_000_000, 2**31, 2**32, 2**53),
    *(2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**39, 0.5, -0.0, 1e-320, 1e308),
    *(Raw("1e400"), Raw("-1e400"), Raw("9" * 5_000), Raw("0x" + "f" * 30), Raw("1_0"), Raw("00"), Raw("+1")),
    *("", " ", "0", "-1", "1e9", "1.5", "all", "off", "on", "auto", "none", "base", "solo", "a.b", "a/b"),
    *("\u0663", "\uff11\uff16MB", "\u00b2", "1\u00bd", "\u2160", "16 \u041cB", "1\u00a0s", "\u221e"),
    *("0-7", "7-0", "0-7:0", "0-1000000000:1", "0-65535", "0-99999999999999999999", "0,0", ",", "-", "0--1"),
    *(
        "0s",
        "1ps",
        "9223372036854775807ps",
        "9223372036854775808ps",
        "1e400s",
        "99999999999999999999s",
        "-1s",
    ),
    *("1B", "16MB", "1TB", "8388607TB", "1bps", "100Tbps", "1e9Gbps", "0%", "100%", "100.0001%", "1ppm"),
    *("x" * 64, "x" * 300, "x" * 5_000, "x" * 100_000, "9" * 5_000, "1." + "0" * 5_000, "0-" * 3_000),
    *("\ud800", "a\udfff\ud800z", "\0", "a\0b", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u202e", "\ufeff"),
    *("a\nb", "a\rb", "a\tb", "=1+1", "+1", "@x", "<script>alert(1)</script>", "${HOME}", "%s%n", "{}", "[]"),
    *(
        "../../etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/mem",
        ".",
        "..",
        "/",
        "~",
        "a" * 300 + ".csv",
    ),
    *([], {}, [[]], [{}], [None], [0, 0], [""], {"": ""}, {"kind": None}, {"kind": "x"}, {"kind": {}}),
    *([1] * 10_000, ["x"] * 100, {f"k{number}": number for number in range(1_000)}, {"x" * 5_000: 1}),
)
"""Values that few fields take, and that some code takes for granted never to see."""

_TOKENS: Final = (
    *(
        "\ufeff",
        "\0",
        "\x01",
        "\t",
        "\r",
        "\u2028",
        "\x85",
        "---\n",
        "...\n",
        "%YAML 3.0\n",
        "%TAG ! x:\n",
        "? ",
    ),
    *(
        "| ",
        "> ",
        "|+9\n",
        "&a ",
        "*a ",
        "*",
        "&",
        "<<: *a\n",
        "!!python/object:os.system ",
        "!!binary ",
        "!!set ",
    ),
    *(
        "!!int ",
        "!!float ",
        "!!timestamp ",
        "!<x> ",
        "! ",
        "{",
        "}",
        "[",
        "]",
        ",",
        ": ",
        ":",
        "- ",
        "#",
        "'",
    ),
    *(
        '"',
        '"\\ud800"',
        '"\\x00"',
        '"\\U00110000"',
        "\\",
        "=",
        "~",
        "@",
        "`",
        ".nan",
        "-.inf",
        "0o",
        "0x",
        "1__",
    ),
)
_DEPTHS: Final = (5, 31, 33, 100, 900, 5_000)


def wrong(draw: random.Random) -> Any:
    """Return one of the wrong values, which is the caller's to change."""
    return copy.deepcopy(draw.choice(WRONG))


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of everything in a document, the document itself first."""
    yield path
    if isinstance(value, dict):
        for key, child in value.items():
            yield from paths(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from paths(child, (*path, index))


def at(document: Any, path: Path) -> Any:
    """Return what stands at a path."""
    for part in path:
        document = document[part]
    return document


def nested(depth: int, draw: random.Random) -> Raw:
    """Return lists or mappings in each other."""
    opening, closing = draw.choice([("[", "]"), ("{a: ", "}"), ('{"a": [', "]}")])
    return Raw(opening * depth + closing * depth)


def _other_value(draw: random.Random, value: Any) -> Any:
    """Return another value for a field: a wrong one, or a near one that may be right and large."""
    if isinstance(value, bool) or not isinstance(value, int | str) or draw.random() < 0.5:
        return nested(draw.choice(_DEPTHS), draw) if draw.random() < 0.03 else wrong(draw)
    if isinstance(value, int):
        return draw.choice([value + 1, value - 1, -value, value * 2, value << draw.randrange(20), str(value)])
    digits = [index for index, character in enumerate(value) if character.isdigit()]
    if not digits:
        return draw.choice([value.upper(), value[:-1], value * 2, f"{value} ", f"{value}\n", value[::-1]])
    index = draw.choice(digits)
    return value[:index] + draw.choice(["", "0", "9", "00", "000", "-", ".", "_"]) + value[index + 1 :]


def _replace(draw: random.Random, document: Any, _others: Sequence[Any]) -> Any:
    path = draw.choice([path for path in paths(document) if path] or [()])
    return _with(document, path, _other_value(draw, at(document, path)))


def _remove(draw: random.Random, document: Any, _others: Sequence[Any]) -> Any:
    path = draw.choice([path for path in paths(document) if path] or [()])
    if path:
        del at(document, path[:-1])[path[-1]]
    return document


def _add(draw: random.Random, document: Any, _others: Sequence[Any]) -> Any:
    """Add a key or an item; a key that is one of another place, or none at all."""
    parent = at(
        document,
        draw.choice([path for path in paths(document) if isinstance(at(document, path), dict | list)]),
    )
    if isinstance(parent, list):
        parent.insert(draw.randrange(len(parent) + 1), draw.choice([*parent, wrong(draw)]))
        return document
    keys = [part for path in paths(document) for part in path[-1:] if isinstance(part, str)]
    strange = [value for value in WRONG if isinstance(value, str)]
    parent[draw.choice(keys if keys and draw.random() < 0.7 else strange)] = wrong(draw)
    return document


def _repeat(draw: random.Random, document: Any, _others: Sequence[Any]) -> Any:
    """Repeat an item of a list many times, its name made another each time or not."""
    lists = [path for path in paths(document) if isinstance(at(document, path), list) and at(document, path)]
    if lists:
        items = at(document, draw.choice(lists))
        item, renames = draw.choice(items), draw.random() < 0.7
        for number in range(draw.choice([1, 2, 30, 1_000])):
            again = copy.deepcopy(item)
            if renames and isinstance(again, dict) and "name" in again:
                again["name"] = f"{again['name']}-{number}"
            items.append(again)
    return document


def _transplant(draw: random.Random, document: Any, others: Sequence[Any]) -> Any:
    """Take a part of another document to where this one has one of the same name, or to its top."""
    other = draw.choice(others)
    path = draw.choice([path for path in paths(other) if path])
    targets = [each for each in paths(document) if each and each[-1:] == path[-1:]]
    if targets:
        return _with(document, draw.choice(targets), copy.deepcopy(at(other, path)))
    if isinstance(document, dict) and isinstance(path[0], str):
        document[path[0]] = copy.deepcopy(at(other, path))
    return document


def _swap(draw: random.Random, document: Any, _others: Sequence[Any]) -> Any:
    """Copy what stands at one place to another."""
    known = [path for path in paths(document) if path]
    if len(known) < 2:
        return document
    source, target = draw.sample(known, 2)
    return _with(document, target, copy.deepcopy(at(document, source)))


def _with(document: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    at(document, path[:-1])[path[-1]] = value
    return document


_STRUCTURAL: Final[tuple[Callable[[random.Random, Any, Sequence[Any]], Any], ...]] = (
    *(_replace, _replace, _replace, _replace, _remove, _add, _repeat, _transplant, _transplant, _swap),
)


def mutated(draw: random.Random, document: Any, others: Sequence[Any]) -> Any:
    """Return a document with one to four of its parts changed.

    Args:
        draw: Where the choices come from.
        document: Mappings, lists and values.
        others: Documents to take parts from.
    """
    document = copy.deepcopy(document)
    for _ in range(draw.choice([1, 1, 1, 2, 3, 4])):
        if isinstance(document, dict | list):
            document = draw.choice(_STRUCTURAL)(draw, document, others)
    return document


def written(value: Any) -> str:
    """Write a document as JSON, which is YAML as well; `Raw` as it is."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        return "{" + ",\n".join(f"{json.dumps(key)}: {written(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


def damaged(draw: random.Random, text: str) -> bytes:
    """Return a text with its characters, its lines or its bytes damaged."""
    for _ in range(draw.choice([1, 1, 2, 5])):
        text = draw.choice(_TEXTUAL)(draw, text)
    return draw.choice(_ENCODED)(draw, text)


def _with_token(draw: random.Random, text: str) -> str:
    index = draw.randrange(len(text) + 1)
    return text[:index] + draw.choice(_TOKENS) + text[index + draw.choice([0, 0, 1, 3]) :]


def _with_lines_moved(draw: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    index, other = draw.randrange(len(lines) or 1), draw.randrange(len(lines) or 1)
    lines[index : index + draw.choice([0, 1, 1, 3])] = lines[other : other + draw.choice([0, 1, 2])]
    return "".join(lines)


def _with_indent(draw: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True) or [""]
    index = draw.randrange(len(lines))
    lines[index] = draw.choice([" " * draw.randrange(9) + lines[index].lstrip(" "), "\t" + lines[index]])
    return "".join(lines)


def _with_alias_bomb(draw: random.Random, text: str) -> str:
    depth, width = draw.choice([3, 9, 30]), draw.choice([2, 10])
    bomb = ["a0: &a0 [x]"]
    bomb += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, depth)]
    return text + "\n" + "\n".join(bomb) + "\n"


def _truncated(draw: random.Random, text: str) -> str:
    return text[: draw.randrange(len(text) + 1)]


def _long(draw: random.Random, text: str) -> str:
    return text + draw.choice(
        ["#" * 2_000_000, "\n" * 200_000, "- " * 20_000, "a: " * 2_000, "x: 1\n" * 20_000]
    )


_TEXTUAL: Final[tuple[Callable[[random.Random, str], str], ...]] = (
    *(_with_token, _with_token, _with_token, _with_token, _with_lines_moved, _with_lines_moved),
    *(_with_indent, _with_indent, _truncated, _with_alias_bomb),
)


def _flipped(draw: random.Random, text: str) -> bytes:
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(draw.choice([1, 1, 4, 30]) if content else 0):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content)


def _plain(_draw: random.Random, text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _encoded(draw: random.Random, text: str) -> bytes:
    return text.encode(draw.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp037"]), "replace")


_ENCODED: Final[tuple[Callable[[random.Random, str], bytes], ...]] = (
    *[_plain] * 9,
    _flipped,
    _flipped,
    _encoded,
)


def too_long(draw: random.Random, text: str) -> bytes:
    """Return a text that goes on for far longer than anybody wrote it."""
    return _plain(draw, _long(draw, text))
