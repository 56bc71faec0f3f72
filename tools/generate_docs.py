"""Renders the reference pages of the documentation from the code; a hook of mkdocs.

The pages are commands, counters, documents, figures, metrics, models, plan fields, columns of record tables,
servers.
mkdocs adds them to docs/reference without writing files; `pages` returns their text.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from tools import documents, plan_reference

from fabricbench import counters
from fabricbench.analysis.comparison.ratios import PUBLISHED
from fabricbench.cli.main import program
from fabricbench.figures.figure import Figure
from fabricbench.figures.registry import FIGURES
from fabricbench.metrics import ALONE_RATIOS, METRICS, RATIOS, Metric, Scope
from fabricbench.plan.document.document import read_file
from fabricbench.plan.fabric.server import Server, shipped_servers
from fabricbench.report.documents.model_notes import MODEL_NOTES
from fabricbench.store.column import Column
from fabricbench.store.columns import COLUMNS

_INTRODUCTION = """
Look up every command with its arguments and options, as `fabricbench COMMAND --help` prints them. [Command
line](../cli.md) explains how they work together, the JSON output and the exit status. Arguments and options
of several commands:
"""
_COMMON = 3
"""Least number of commands that share an argument or option for it to be described only once."""
_Record = tuple[str, str]
_FIGURES = """
Look up every figure that a trial may have. The [report](../report.md) has them in its sections, the server
gives one by [name](../server.md#figures-and-tables), and so does `run.plot.figure(NAME)` in
[Python](../python.md). A figure that needs a table is present if the record holds rows of it; one that draws
samples needs that quantity of [`series`](../records.md#series).
"""
_MODELS = """
Judge a result by the scope of the models: modelled and left out. Every report ends with this table.
[Validation](../validation.md) compares results with published ones, [closed forms](../closed-forms.md) has
the formulas that tests compare them with, and decisions that differ from the obvious have
[pages of their own](../adr/0005-the-target-rate-is-clamped-by-choice.md).
"""
_DOCUMENTS = """
Find a parameter, a column, a statistic or a screen of a published document in fabricbench. Five documents,
item by item: the chapter, the item with its published value, and the plan with its field, the metric, the
column, the figure or the command that has it. A checked figure is a cell of
[Validation tables](validation.md), ours / published (deviation). Tests compare every row with the plans,
registries and tables that it names.
"""
_COUNTERS = """
Look up the definition of a vendor's counter. [Counters by definition](../counters.md) explains how to read
and compare them. Column *counts* separates bursts from packets, and marked packets from packets that were
selected for marking. `{p}` is a priority.
"""
_METRICS = """
Look up name, unit, direction, formula and definition of every metric. Names are those of JSON, CSV and the
table `trials`. [Metrics](../metrics.md) explains jobs that repeat, storage, ratios, observation points (*seen
at*) and null values; [Records](../records.md) the columns in the formulas.
"""
_RECORDS = """
Look up every column of the tables of a record. [Records](../records.md) explains rows, types, units and null
values.
"""
_SERVERS = """
Look up the values of each shipped server with their sources, and the fields of a file of your own.
[What NCCL chooses](../nccl.md) uses them. A source with *inferred* is a conclusion and no statement of the
vendor.
"""
_FAMILIES = {
    "mlx5": "NVIDIA ConnectX and BlueField (mlx5)",
    "bnxt_re": "Broadcom, RDMA (bnxt_re)",
    "bnxt_en": "Broadcom, Ethernet (bnxt_en)",
    "ice": "Intel (ice)",
    "irdma": "Intel, RDMA (irdma)",
    "rxe": "Soft-RoCE (rxe)",
    "ib-port": "Every RDMA device (`ports/*/counters`)",
    "sonic": "SONiC (COUNTERS_DB, names of SAI; columns of `portstat`)",
    "openconfig": "OpenConfig (gNMI)",
    "linux": "Linux",
    "endpoint": "Endpoints of fabricbench",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to those that mkdocs has read from docs."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def pages() -> dict[str, str]:
    """Return the text of each page by its path below docs."""
    texts = {
        "cli": cli_page(),
        "counters": counters_page(),
        "documents": documents_page(),
        "figures": figures_page(),
        "metrics": metrics_page(),
        "models": models_page(),
        "plan": plan_reference.page(),
        "records": records_page(),
        "servers": servers_page(),
    }
    return {f"reference/{name}.md": text for name, text in texts.items()}


def figures_page() -> str:
    """Return the page of figures."""
    rows = [
        f"| `{figure.name}` | {figure.shows} | {figure.section.title} | {_needs(figure)} |"
        for figure in FIGURES.values()
    ]
    table = ["| name | shows | section of the report | needs |", "|---|---|---|---|", *rows]
    return "\n".join(["# Figures", _FIGURES, *table, ""])


def _needs(figure: Figure) -> str:
    tables = ", ".join(f"`{table}`" for table in figure.tables) or "results"
    return f"{tables}: `{figure.metric}`" if figure.metric else tables


def counters_page() -> str:
    """Return the page of counters, vendor by vendor."""
    parts = [f"# Counters of each vendor\n{_COUNTERS}"]
    for family, title in _FAMILIES.items():
        rows = [_counter(counter) for counter in counters.counters() if counter.family == family]
        head = "| counter | neutral name | metric | counts | unit | meaning |\n|---|---|---|---|---|---|\n"
        references = (counter.reference for counter in counters.counters() if counter.family == family)
        sources = sorted({source for reference in references for source in reference.split("; ")})
        parts.append(f"## {title}\n\n{head}{''.join(rows)}\nSources: {'; '.join(sources)}.\n")
    return "\n".join(parts)


def _counter(counter: counters.Counter) -> str:
    unit = f"{counter.unit}, {counter.scale} each" if counter.scale != 1 else counter.unit or "–"
    metric = f"[`{counter.metric}`](metrics.md)" if counter.metric else ""
    cells = (f"`{counter.vendor_name}`", f"`{counter.name}`", metric, counter.counts, unit, counter.meaning)
    return f"| {' | '.join(cells)} |\n"


def documents_page() -> str:
    """Return the page of the documents, item by item."""
    return f"# Five documents, item by item\n{_DOCUMENTS}\n{documents.page()}"


def models_page() -> str:
    """Return the page of models and limits."""
    rows = [f"| {note.part} | {note.modelled} | {note.left_out} |" for note in MODEL_NOTES]
    table = ["| part | modelled | left out |", "|---|---|---|", *rows]
    return "\n".join(["# Models and limits", _MODELS, *table, ""])


def metrics_page() -> str:
    """Return the page of metrics, of their ratios and of their columns in published tables."""
    previous = ["", *map(_definition, METRICS)]
    metrics = [_metric(metric, reference) for metric, reference in zip(METRICS, previous, strict=False)]
    published = [f"| `{metric.name}` | `{metric.published}` |" for metric in PUBLISHED]
    parts = [
        "# All metrics",
        _METRICS,
        "| name | meaning | unit | better | seen at | formula | definition |",
        "|---|---|---|---|---|---|---|",
        *metrics,
        "\n## Ratios to the job alone\n",
        *_ratios(ALONE_RATIOS),
        "\n## Ratios to the reference variant\n",
        *_ratios(RATIOS),
        "\n## Columns of published tables\n",
        "| metric | column of the published table |",
        "|---|---|",
        *published,
    ]
    return "\n".join([*parts, ""])


def _ratios(ratios: Mapping[str, Metric]) -> list[str]:
    rows = [f"| `{name}` | `{metric.name}` | {metric.direction} |" for name, metric in ratios.items()]
    return ["| ratio | of | better |", "|---|---|---|", *rows]


def _metric(metric: Metric, previous: str) -> str:
    """Return the row of a metric; a definition equal to that in the row above is not repeated."""
    title = f"{metric.title} (of the whole run)" if metric.scope is Scope.RUN else metric.title
    definition = "as above" if _definition(metric) == previous else _definition(metric)
    facts = (metric.unit or "-", metric.direction, metric.point)
    cells = (f"`{metric.name}`", title, *facts, metric.formula, definition)
    return f"| {' | '.join(cells)} |"


def _definition(metric: Metric) -> str:
    return f"{metric.reference}. None {metric.absent}" if metric.absent else metric.reference


def records_page() -> str:
    """Return the page with the columns of each table of a record."""
    parts = [f"# Columns of every table\n{_RECORDS}"]
    for table, columns in COLUMNS.items():
        rows = "\n".join(map(_column, columns))
        parts.append(f"## {table}\n\n| column | unit | meaning |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def servers_page() -> str:
    """Return the page of shipped servers: fields of a server, then each server with its sources."""
    fields = plan_reference.reference(Server.model_json_schema(), "The server")
    parts = [f"# Servers\n{_SERVERS}", f"## Fields of a server\n\n{fields}"]
    for name, path in shipped_servers().items():
        document = read_file(path, name)
        rows = [
            f"| `{field}` | `{_written(document.value(tuple(field.split('.'))))}` | {_cell(source)} |"
            for field, source in document.data["sources"].items()
        ]
        head = f"## {name}\n\n{document.data['description']}.\n\n| field | value | source |\n|---|---|---|\n"
        parts.append(f"{head}{chr(10).join(rows)}\n")
    return "\n".join(parts)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _column(column: Column) -> str:
    unit = column.unit or ("text" if column.type == "string" else "-")
    return f"| `{column.name}` | {unit}{', null' if column.is_nullable else ''} | {column.meaning} |"


def cli_page() -> str:
    """Return the reference of the command line."""
    commands = [*_commands(typer.main.get_command(program()), ())]
    counted = Counter(record for path, command in commands for record in _records(path, command))
    common = [record for record, count in counted.items() if count >= _COMMON]
    parts = ["# Command line reference", _INTRODUCTION, *_table(common)]
    for path, command in commands:
        parts += ["", *_section(path, command, common)]
    return "\n".join(parts) + "\n"


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command without subcommands, with the words of its name."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, subcommand in inner.items():
        yield from _commands(subcommand, (*path, name))


def _section(path: tuple[str, ...], command: Any, common: Sequence[_Record]) -> list[str]:
    parameters = [parameter for parameter in command.params if parameter.name != "help"]
    arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
    options = [parameter for parameter in parameters if parameter.param_type_name == "option"]
    words = [
        "fabricbench",
        *path,
        *(_argument(parameter) for parameter in arguments),
        *(["[OPTIONS]"] if options else []),
    ]
    lines = [f"## {' '.join(path)}", "", f"`{' '.join(words)}`", "", inspect.cleandoc(command.help or "")]
    records = _records(path, command)
    specific_records = [record for record in records if record not in common]
    common_names = ", ".join(f"`{name.split()[0].rstrip(',')}`" for name, _ in records if (name, _) in common)
    return [
        *lines,
        *(["", *_table(specific_records)] if specific_records else []),
        *(["", f"Also {common_names}."] if common_names else []),
    ]


def _records(path: tuple[str, ...], command: Any) -> list[_Record]:
    """Return names and help of each argument and option."""
    context = typer.Context(command, info_name=" ".join(("fabricbench", *path)))
    parameters = [parameter for parameter in command.params if parameter.name != "help"]
    return [
        (name, text)
        for name, text in (parameter.get_help_record(context) or ("", "") for parameter in parameters)
        if name
    ]


def _table(records: Sequence[_Record]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| `{_cell(name)}` | {_cell(text)} |" for name, text in records)]


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
