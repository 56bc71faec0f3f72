"""Data of a finished trial: its RunSpec, summary, record tables, plan, and the links of its jobs."""

from __future__ import annotations
