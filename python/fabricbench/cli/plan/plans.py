"""The command `plans`; it starts fast, so all that loads plans is in `plan_rows`."""

from __future__ import annotations

from fabricbench.cli.options import FormatOption
from fabricbench.cli.output import Format, write
from fabricbench.plan.document.shipped import shipped_titles


def plans_command(output: FormatOption = Format.TABLE) -> None:
    """List the shipped plans."""
    if output is Format.TABLE:
        titles = shipped_titles()
        width = max(map(len, titles))
        write("\n".join(f"{name:{width}}  {title}" for name, title in titles.items()))
        return
    from fabricbench.cli.plan.plan_rows import plan_rows

    write(plan_rows(output))
