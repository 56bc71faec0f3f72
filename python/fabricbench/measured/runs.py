"""Separates the runs of a file: tables that differ in a setting are no repetitions of each other.

`separated` returns the tables with their settings and differences; `described` returns a difference in words.
Measurements are repetitions if they have the same type, operation, root, device, hosts, library, options,
variables and date. A setting missing in an output is unknown and separates nothing. An unset variable has its
default, so runs differ if one sets it and the other does not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fabricbench.measured.file_text.document import Document
from fabricbench.measured.model import Row, Table

COMPUTED = ("type", "redop")
"""Settings that change the computation on GPUs and not the bytes on the network."""
_OF_A_ROW = (*COMPUTED, "root")
_NO_SETTINGS = ("communicator", "measured at", "nodes", "hosts")
_LABEL = re.compile(r"[A-Za-z0-9][\w.]{0,15}")
_LABELS_MAX = 3
_COMPARED_MAX = 64
"""Most groups of equal runs of a benchmark; further runs are separate even if a setting is unknown."""
_SHOWN_MAX = 80
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,60}")
_ASSIGNED = re.compile(r"([A-Z][A-Z0-9_]{2,60})=(.*)", re.DOTALL)
_SILENT = re.compile(r"(?:N|R)CCL_DEBUG(?:_\w+)?")
"""Variables that change only the log."""
_LOGGED = re.compile(r"\b((?:N|R)CCL_[A-Z0-9_]{2,60}) set (?:by environment )?to ([^\s;]+)")
_EXPORT = re.compile(r"^\s*(?:[>$%+#]+ )?(?:export|setenv)\s+([A-Z][A-Z0-9_]{2,60})[= ](\S+)")
_UNSET = re.compile(r"^\s*(?:[>$%+#]+ )?(?:unset|unsetenv)\s+([A-Z][A-Z0-9_]{2,60})")
_LIBRARY = re.compile(r"\b(?:NCCL|RCCL) version ?:? ?v?(\d[\w.+-]{0,40})")
_NETWORK = re.compile(r"\bUsing network ([\w .-]{1,40})")
_DAY = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d)(?!\d)")
_WEEKDAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"[\s#=*-]*(?:(?:run|test|job)\s+)?(?:date|time(?:stamp)?|start(?:ed|ing)?(?:\s+(?:at|time|date))?)?[\s:=]*"
    r"(\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d\S*(?: [+\w:]{1,6})?)?"
    rf"|(?:{_WEEKDAY},? +)?(?:\d{{1,2}} +{_MONTH}|{_MONTH} +\d{{1,2}})\b[\w :,+]{{4,40}})"
    r"[\s#=*-]*",
    re.IGNORECASE,
)
_PROGRAM = re.compile(r"(?:.*/)?(?:\w+_perf(?:_mpi)?|(?:ib|raw_ethernet)_\w+_(?:bw|lat)|osu_\w+|IMB-\w+)")
_SIZES: Mapping[str, tuple[str, ...]] = {
    "_perf": ("-b", "--minbytes", "-e", "--maxbytes", "-f", "--stepfactor", "-i", "--stepbytes", "-J"),
    "ib_": ("-s", "--size", "-p", "--port", "--out_json_file"),
    "osu_": ("-m", "--message-size"),
    "IMB-": ("-msglog", "-msglen"),
}
"""Options with a value for measured sizes and output files, by a part of the program's name."""
_SIZE_OPTIONS_WITHOUT_VALUE = ("-a", "--all", "--out_json", "-J")
_NAME_AND_VALUE = ("-genv", "-env", "--mca", "-mca", "--gmca")


def separated(document: Document, tables: Sequence[Table]) -> list[Table]:
    """Return the tables with their settings, split by type, operation and root.

    `differs` of each has the settings in which the tables of its benchmark and ranks differ, if they do.

    Args:
        document: The file.
        tables: Its tables, in their order.
    """
    parts = [part for table in _with_settings(document, tables) for part in _parts(table)]
    indices_by_benchmark: dict[tuple[object, ...], list[int]] = {}
    for part_index, table in enumerate(parts):
        indices_by_benchmark.setdefault((table.benchmark, table.ranks, table.part), []).append(part_index)
    for indices in indices_by_benchmark.values():
        settings = [parts[index].settings for index in indices]
        differences = _differences(settings)
        names, judged = _run_names(differences), _judged(settings)
        for index, differs in zip(indices, differences, strict=True):
            is_judged = _computed(parts[index].settings) == judged
            parts[index] = replace(
                parts[index], differs=differs, run=names[described(differs)], is_judged=is_judged
            )
    return parts


def _computed(settings: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(settings.get(name, "") for name in COMPUTED)


def _judged(runs: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the type and operation by which the network is judged.

    Bytes on the network do not depend on them, so one of several is enough: the sum of floats, the default of
    nccl-tests, if it was measured, else the first.
    """
    computed = list(dict.fromkeys(map(_computed, runs)))
    default = [
        setting_pair
        for setting_pair in computed
        if setting_pair[0] == "float" and setting_pair[1] in ("", "sum", "none")
    ]
    return next(iter(default or computed))


def _run_names(differences: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the name of each run by its described difference: its settings if short, else a number."""
    runs = {described(differs): differs for differs in differences}
    if len(runs) < 2:
        return dict.fromkeys(runs, "")
    labels = [_label(differs) for differs in runs.values()]
    has_labels = "" not in labels and len(set(labels)) == len(runs)
    numbers = [f"run{number}" for number in range(1, len(runs) + 1)]
    return dict(zip(runs, labels if has_labels else numbers, strict=True))


def _label(differs: Mapping[str, str]) -> str:
    """Return a short name of the settings in which a run differs; empty if they are too long."""
    values = list(differs.values())
    is_short = 0 < len(values) <= _LABELS_MAX
    return "-".join(values) if is_short and all(_LABEL.fullmatch(value) for value in values) else ""


def described(differs: Mapping[str, str]) -> str:
    """Return the settings in which a run differs, in words."""
    texts = [_described(name, value) for name, value in differs.items()]
    return ", ".join(texts)


def _described(name: str, value: str) -> str:
    if _VARIABLE.fullmatch(name):
        return f"{name}={value}" if value else f"{name} not set"
    return f"{name} {value or 'not said'}"[:_SHOWN_MAX]


def _with_settings(document: Document, tables: Sequence[Table]) -> Iterator[Table]:
    """Yield each table with the settings in the lines from the table before to its last row."""
    is_text = not document.text.lstrip().startswith("{")
    raw = document.text.split("\n") if is_text else []
    texts = [line.text for line in document.lines] if is_text else []
    days = [_day(raw, table) for table in tables]
    days = days if len(set(days)) > 1 else [""] * len(tables)
    start, exported, date = 0, dict[str, str](), ""
    for table, day in zip(tables, days, strict=True):
        settings = {name: str(value) for name, value in table.facts.items() if name not in _NO_SETTINGS}
        settings |= {"version": table.version} if table.version else {}
        settings |= {"date": str(table.facts["measured at"])} if "measured at" in table.facts else {}
        settings |= table.settings
        variables, options = _command(table.command)
        settings |= {"options": options} if options else {}
        end = max((row.line for row in table.rows), default=table.line)
        region = texts[start:end] if is_text else []
        logged = _of_region(region, table.line - start, settings, exported)
        settings |= exported | logged | variables
        if date := settings.get("date") or day or date:
            settings["date"] = date
        start = end if is_text else start
        compared_settings = {name: value for name, value in settings.items() if not _SILENT.fullmatch(name)}
        yield replace(table, settings=compared_settings)


def _of_region(
    region: Sequence[str], head: int, settings: dict[str, str], exported: dict[str, str]
) -> dict[str, str]:
    """Add library, network and date from the lines of a run; return the variables that its log names."""
    logged: dict[str, str] = {}
    for index, text in enumerate(region):
        if exporting := _EXPORT.match(text):
            exported[exporting[1]] = exporting[2].strip("'\"")
        elif unsetting := _UNSET.match(text):
            exported.pop(unsetting[1], None)
        if "CCL" in text:
            logged |= {name: value.rstrip(",.") for name, value in _LOGGED.findall(text)}
            for name, pattern in (("nccl", _LIBRARY), ("network", _NETWORK)):
                if match := pattern.search(text):
                    settings.setdefault(name, match[1].strip())
        elif index < head and len(text) < 120 and (date := _DATE.fullmatch(text)):
            settings["date"] = " ".join(date[1].split())
    return logged


def _day(raw: Sequence[str], table: Table) -> str:
    """Return the day in the lines of a table, by a launcher or option `-T` of nccl-tests; empty without."""
    lines = (table.line, *(row.line for row in table.rows[:1]))
    days = (_DAY.search(raw[line - 1][:400]) for line in lines if 0 < line <= len(raw))
    return next((day[1] for day in days if day), "")


def _command(command: str) -> tuple[dict[str, str], str]:
    """Return the variables of a command line, and its other words without sizes and files of output."""
    words = _words(command)
    variables: dict[str, str] = {}
    options: list[str] = []
    sizes: tuple[str, ...] = ()
    index = 0
    while index < len(words):
        word, index = words[index], index + 1
        name, _, value = word.partition("=")
        if sizes and (name in sizes or word in _SIZE_OPTIONS_WITHOUT_VALUE):
            index += 1 if name in sizes and not value else 0
        elif word in _NAME_AND_VALUE and index + 1 < len(words):
            variables[words[index]] = words[index + 1]
            index += 2
        elif word.startswith("--export="):
            assignments = (_ASSIGNED.fullmatch(assignment) for assignment in value.split(","))
            variables |= {assignment[1]: assignment[2] for assignment in assignments if assignment}
            variables |= {value.split(",")[0]: word.split("=", 2)[2]} if word.count("=") == 2 else {}
        elif assigned := _ASSIGNED.fullmatch(word):
            variables[assigned[1]] = assigned[2]
            options = options[:-1] if options and options[-1] in ("-x", "-env", "-E") else options
        else:
            options.append(word)
            if not sizes and _PROGRAM.fullmatch(word):
                sizes = next(
                    size_options for part, size_options in _SIZES.items() if part in word or part == "IMB-"
                )
    return variables, " ".join(options)


def _words(command: str) -> list[str]:
    """Return the words of a command line up to a pipe or redirection of its output."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    end = next((index for index, word in enumerate(words) if re.match(r"\||(?:\d|&)?>", word)), len(words))
    return words[:end]


def _parts(table: Table) -> Iterator[Table]:
    """Yield the rows of each type, operation and root as a table of their own."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in table.rows:
        groups.setdefault(tuple(str(row.values.get(name, "")) for name in _OF_A_ROW), []).append(row)
    for key, rows in groups.items():
        row_settings = {name: value for name, value in zip(_OF_A_ROW, key, strict=True) if value}
        yield replace(table, rows=rows, settings={**table.settings, **row_settings})


def _differences(runs: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return for each run the settings that differ among all of them; empty if all may be the same."""
    groups: list[dict[str, str]] = []
    of_run: list[int] = []
    group_of_settings: dict[tuple[tuple[str, str], ...], int] = {}
    for settings in runs:
        key = tuple(sorted(settings.items()))
        group = group_of_settings.get(key)
        if group is None and len(groups) < _COMPARED_MAX:
            group = next((index for index, other in enumerate(groups) if _may_be_same(other, settings)), None)
        group_of_settings[key] = len(groups) if group is None else group
        if group is None:
            groups.append(dict(settings))
        else:
            groups[group] = {**settings, **groups[group]}
        of_run.append(len(groups) - 1 if group is None else group)
    if len(groups) < 2:
        return [{} for _ in runs]
    names = dict.fromkeys(name for other in groups for name in other)
    differing = [name for name in names if _differs(name, groups)]
    of_group = [{name: other.get(name, "") for name in differing} for other in groups]
    if "options" in differing:
        of_group = _without_common_words(of_group)
    return [of_group[group] for group in of_run]


def _differs(name: str, groups: Sequence[Mapping[str, str]]) -> bool:
    values = {settings.get(name, "") for settings in _stating(name, groups)}
    return len(values) > 1


def _stating(name: str, groups: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return the runs with a known setting; a variable is also known in runs that state other variables."""
    if _VARIABLE.fullmatch(name):
        return [settings for settings in groups if _states_variables(settings)]
    return [settings for settings in groups if name in settings]


def _states_variables(settings: Mapping[str, str]) -> bool:
    return "options" in settings or any(_VARIABLE.fullmatch(name) for name in settings)


def _may_be_same(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    return not any(_differs(name, (first, second)) for name in {**first, **second})


def _without_common_words(groups: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the settings without the words that all command lines have in common."""
    words = [dict.fromkeys(settings["options"].split()) for settings in groups]
    return [
        {
            **settings,
            "options": " ".join(
                word for word in run_words if not all(word in other_words for other_words in words)
            ),
        }
        for settings, run_words in zip(groups, words, strict=True)
    ]
