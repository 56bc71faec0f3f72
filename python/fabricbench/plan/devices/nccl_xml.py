"""Reads XML that NCCL writes as a tree of elements with their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from fabricbench.plan.errors import Place, PlanError, Problem

_ELEMENTS_MAX: Final = 20_000
_DEPTH_MAX: Final = 64


@dataclass
class Element:
    """Element of XML with its attributes, its line, its children and its parent."""

    tag: str
    values: Mapping[str, str]
    line: int
    inside: list[Element] = field(default_factory=list)
    around: Element | None = field(default=None, repr=False)

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the elements of a tag inside this one, in the order of the file."""
        for child in self.inside:
            if child.tag == tag:
                yield child
            yield from child.all(tag)


class _Tree:
    """Builds a tree of XML elements with their lines; refuses entities and limits count and depth."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.top = Element("", {}, 1)
        self._open = [self.top]
        self._count = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, text: str) -> Element:
        try:
            self._parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            actual = f"text that is no XML: {expat.ErrorString(error.code)}"
            raise self._error(actual, "XML of NCCL", error.lineno) from error
        return self.top.inside[0]

    def _start(self, tag: str, values: dict[str, str]) -> None:
        self._count += 1
        if self._count > _ELEMENTS_MAX or len(self._open) > _DEPTH_MAX:
            raise self._error("more elements than a host has", f"{_ELEMENTS_MAX}, {_DEPTH_MAX} deep")
        element = Element(tag, values, self._parser.CurrentLineNumber, around=self._open[-1])
        self._open[-1].inside.append(element)
        self._open.append(element)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _doctype(self, *_: object) -> None:
        raise self._error("a document type, which may hold entities", "XML of NCCL, which has none")

    def _error(self, actual: str, allowed: str, line: int | None = None) -> PlanError:
        location = Place(self.source, line or self._parser.CurrentLineNumber, 1)
        return PlanError([Problem(location, "", actual, allowed)])


def read_xml(text: str, source: str) -> Element:
    """Return the outermost element of XML that NCCL has written.

    Args:
        text: The XML.
        source: Its name in errors.

    Raises:
        PlanError: It is no XML, has a document type, or more elements than a host.
    """
    return _Tree(source).read(text)
