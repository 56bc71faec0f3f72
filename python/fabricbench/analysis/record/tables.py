"""Record tables of a trial, and which of its chunks have rows."""

from __future__ import annotations
