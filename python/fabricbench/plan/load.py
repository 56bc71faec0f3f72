"""Loads a plan: file, overrides, fields and checks of the whole plan. Every error is a `PlanError`."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.check import check_plan, plan_warnings
from fabricbench.plan.devices.switch_config import Configurations, Configured, override_of, uncovered
from fabricbench.plan.devices.switch_values import CONFIG
from fabricbench.plan.document.document import Document, read_file, read_text
from fabricbench.plan.document.nodes import kind_name
from fabricbench.plan.document.overrides import apply_overrides
from fabricbench.plan.document.published import PublishedTable, read_published
from fabricbench.plan.document.shipped import NO_FILE, find_plan, find_published, published_tables
from fabricbench.plan.document.validate import field_problems, meaning, with_canonical_names
from fabricbench.plan.errors import Place, PlanError, Problem, dotted
from fabricbench.plan.estimates.cost import Limits, memory_problem, problems_beyond, routes_problem, with_cost
from fabricbench.plan.estimates.flow_error import backend_for
from fabricbench.plan.estimates.rail_crossing import rail_warnings
from fabricbench.plan.expand import PlannedTrial, expand_variants, first_spec
from fabricbench.plan.fabric.load_balancing import Pinned
from fabricbench.plan.fabric.name_hints import near_name_hint
from fabricbench.plan.fabric.pins import pin_problems
from fabricbench.plan.fields.spec_fields import field_of, number_text, range_text
from fabricbench.plan.loaded_plan import LoadedPlan, LoadedVariant
from fabricbench.plan.model import PLAN_VERSION, Plan
from fabricbench.plan.profile import profile_of, with_nic
from fabricbench.plan.server import with_server
from fabricbench.plan.sweep.labels import BASE_VARIANT, shared_variant
from fabricbench.plan.sweep.resolve import (
    VariantDocument,
    check_differences,
    merged_problems,
    variant_documents,
)
from fabricbench.plan.sweep.search_range import range_of
from fabricbench.plan.sweep.sizes import size_kind
from fabricbench.plan.sweep.variants import Variant
from fabricbench.words import close_match_hint

_FIELDS: Final = "<fields>"
_T = TypeVar("_T")


def load_plan(
    name: str,
    overrides: Iterable[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
    *,
    quick: bool = False,
) -> LoadedPlan:
    """Load a plan and check everything that can be checked before it runs.

    Args:
        name: A shipped plan's name, or a file.
        overrides: Changes for this run, each FIELD=VALUE.
        limits: Limits of the estimated cost of a trial; none by default.
        chosen: Names of the variants to run; all by default.
        quick: Apply the overrides of its `quick` first.

    Raises:
        PlanError: With everything that is wrong with it, or with the first trial beyond a limit.
    """
    path, source = find_plan(name)
    document = read_file(path, source)
    if not quick:
        return _load(document, path, tuple(overrides), limits, chosen)
    criteria_override = _without_criteria(document)
    loaded = _load(
        document, path, (*_quick_overrides(document), *criteria_override, *overrides), limits, chosen
    )
    if criteria_override and not loaded.plan.criteria:
        actual = "limits of the plan as written, which are not judged with --quick"
        left_out = document.problem(("criteria",), actual)
        loaded = replace(loaded, warnings=(*loaded.warnings, left_out))
    return loaded


def _without_criteria(document: Document) -> list[str]:
    """Return the override that removes the criteria, which are limits of the plan as written.

    Criteria that `quick` sets, or that a search evaluates, are not removed.
    """
    quick = document.data.get("quick")
    changed = quick if isinstance(quick, dict) else {}
    is_needed = "search" in document.data or any(name.partition(".")[0] == "criteria" for name in changed)
    return [] if is_needed or not document.data.get("criteria") else ["criteria=[]"]


def _quick_overrides(document: Document) -> list[str]:
    """Return the overrides that make a plan quick.

    Raises:
        PlanError: It has no field `quick`.
    """
    changes = document.data.get("quick")
    if changes is None:
        hint = "choose what is small enough: -s sweep.data_size=[1MB]"
        allowed = "quick: {FIELD: VALUE}, what --quick changes"
        raise PlanError([Problem(Place(document.source), "quick", "nothing", allowed, hint)])
    if not isinstance(changes, dict):
        return []  # the check of the fields reports it
    return [f"{name}={json.dumps(value)}" for name, value in changes.items()]


def load_fields(fields: Mapping[str, Any], path: Path = NO_FILE, overrides: Iterable[str] = ()) -> LoadedPlan:
    """Load a plan from the fields of its YAML; a published table that it names is a shipped one.

    Args:
        fields: The fields.
        path: File in whose folder the files are that it names; by default it may name none.
        overrides: Changes for this run, each FIELD=VALUE.

    Raises:
        PlanError: With everything that is wrong with it, by the line of the fields written as JSON.
    """
    try:
        text = json.dumps(fields, indent=2)
    except (TypeError, ValueError, RecursionError) as error:
        allowed = "numbers, texts, booleans, lists and mappings"
        raise PlanError([Problem(Place(_FIELDS), "", f"what is no plan: {error}", allowed)]) from error
    return _load(read_text(text, _FIELDS), path, tuple(overrides))


def load_text(
    text: str,
    source: str,
    overrides: Iterable[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    """Load a plan from YAML text; the only file read is a shipped published table, if it names one.

    Args:
        text: The YAML.
        source: Its name in errors.
        overrides: Changes for this run, each FIELD=VALUE.
        limits: Limits of the estimated cost of a trial; none by default.
        chosen: Names of the variants to run; all by default.

    Raises:
        PlanError: With everything that is wrong with it, or with the first trial beyond a limit.
    """
    return _load(read_text(text, source), NO_FILE, tuple(overrides), limits, chosen)


def reload(
    loaded: LoadedPlan,
    overrides: Iterable[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    """Load a plan again, from the text it had, with more overrides, with limits, or some of its variants.

    Raises:
        PlanError: With everything that is wrong with it, or with the first trial beyond a limit.
    """
    document = read_text(loaded.text, loaded.source)
    return _load(document, loaded.path, (*loaded.overrides, *overrides), limits, chosen)


def document_of(loaded: LoadedPlan) -> Document:
    """Return the document of a plan with its overrides, for the locations of its fields."""
    return apply_overrides(read_text(loaded.text, loaded.source), loaded.overrides)


def _load(
    document: Document,
    path: Path,
    overrides: tuple[str, ...] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    document_as_written, document = document, apply_overrides(document, overrides)
    profile, configurations = profile_of(document, path), Configurations(path)

    def with_profiles(variant: Document) -> Configured:
        variant = with_server(profile.applied(variant) if profile else variant, path)
        return configurations.applied(with_nic(variant))

    own_configured = with_profiles(document)
    plan = validate(own_configured.document)
    documents = variant_documents(plan, document)
    configured = _for_each(documents, lambda variant: with_profiles(variant.document))
    documents = [
        replace(variant, document=problem.document)
        for variant, problem in zip(documents, configured, strict=True)
    ]
    _check_chosen(chosen, plan)
    is_published = not overrides or _is_as_published(document_as_written, document)
    variants = _for_each(documents, lambda variant: _checked_variant(variant, plan, path))
    if not is_published:
        variants = [replace(variant, published=None) for variant in variants]
    chosen_documents = [variant for variant in documents if not chosen or variant.label in chosen]
    plans = {variant.case: variant.plan for variant in variants}
    _for_each(chosen_documents, lambda variant: _check_runnable(variant, plans[variant.case], limits))
    trials = expand_variants(plans)
    _check_differences(documents, trials)
    warnings = [
        (variant, problem)
        for variant in chosen_documents
        for problem in variant.document.problems(plan_warnings(plans[variant.case]))
    ]
    if plan.published is not None and not is_published and documents:
        warnings.append((documents[0], _other_than_published(document)))
    warnings += [
        (variant, warning)
        for variant, problem in zip(documents, configured, strict=True)
        if not chosen or variant.label in chosen
        for warning in problem.warnings
    ]
    spec_by_case = {trial.case: trial.run_spec for trial in reversed(trials) if not trial.is_solo}
    warnings += [
        (variant, problem)
        for variant in chosen_documents
        for problem in variant.document.problems(rail_warnings(spec_by_case[variant.case]))
    ]
    labels = {variant.label for variant in chosen_documents}
    loaded = LoadedPlan(
        plan,
        path,
        document.source,
        document.text,
        overrides,
        tuple(variants),
        [trial for trial in trials if shared_variant(trial.variant) in labels],
        tuple(trials),
        tuple(_in_order(merged_problems(warnings, chosen_documents))),
        tuple(_record_overrides(own_configured, documents, configured)),
    )
    if plan.search is not None:
        return replace(loaded, ends=tuple(_search_ends(loaded, document, limits, chosen)))
    if limits is not None:
        _check_limits(chosen_documents, loaded, limits)
    return loaded


def _search_ends(
    loaded: LoadedPlan, document: Document, limits: Limits | None, chosen: Sequence[str]
) -> Iterator[LoadedPlan]:
    """Yield a plan at both ends of the range of its search; the plan as written is not run.

    Raises:
        PlanError: It is invalid there, or beyond the limits.
    """
    searched = range_of(loaded.plan, document)
    for name, value in (("from", searched.low), ("to", searched.high)):
        try:
            yield reload(loaded, searched.at(value), limits, chosen)
        except PlanError as error:
            text = searched.text(value)
            raise PlanError(_at_end(problem, name, text, document) for problem in error.problems) from error


def _at_end(problem: Problem, name: str, value: str, document: Document) -> Problem:
    """Return a problem of a plan at one end of its search as a problem of the field of that end."""
    actual = f"{value}, with which {problem.field or problem.place.source} is {problem.found}"
    return document.problem(("search", name), actual, problem.allowed, problem.hint)


def _record_overrides(
    own: Configured, documents: Sequence[VariantDocument], configured: Sequence[Configured]
) -> Iterator[str]:
    """Yield overrides with the values of configurations: of the plan, and of variants with their own."""
    if own.record is not None:
        yield override_of(own.record)
    recorded_labels: set[str] = set()
    for variant, variant_configured in zip(documents, configured, strict=True):
        is_own = variant.document.value(CONFIG) != own.document.value(CONFIG)
        if (
            variant.path
            and is_own
            and variant_configured.record is not None
            and variant.label not in recorded_labels
        ):
            recorded_labels.add(variant.label)
            yield override_of(variant_configured.record, variant.label)


def _for_each(documents: Sequence[VariantDocument], check: Callable[[VariantDocument], _T]) -> list[_T]:
    """Call a function with each variant, and return the results.

    Raises:
        PlanError: With the problems of all variants; problems that all have are those of the plan.
    """
    results: list[_T] = []
    problems: list[tuple[VariantDocument, Problem]] = []
    for variant in documents:
        try:
            results.append(check(variant))
        except PlanError as error:
            problems += ((variant, problem) for problem in error.problems)
    if problems:
        raise PlanError(merged_problems(problems, documents))
    return results


def _checked_variant(variant: VariantDocument, plan: Plan, path: Path) -> LoadedVariant:
    """Check a variant by itself; the base plan has been checked already."""
    if not variant.is_plan:
        plan = validate(variant.document, variant.label, plan.variants)
    return LoadedVariant(variant.case, plan, _published(plan, path, variant))


def _check_chosen(chosen: Sequence[str], plan: Plan) -> None:
    """Check that each variant that the user chose exists."""
    names = [variant.name for variant in plan.variants]
    problems = [
        Problem(
            Place(f"--variant {name}"),
            "",
            "no such variant",
            ", ".join(names) or "nothing, the plan has no variants",
            close_match_hint(name, names),
        )
        for name in chosen
        if name not in names
    ]
    if problems:
        raise PlanError(problems)


def _check_differences(documents: Sequence[VariantDocument], trials: Sequence[PlannedTrial]) -> None:
    """Check that no variant runs the same as another."""
    specs = {trial.case: trial.spec_json for trial in reversed(trials) if not trial.is_solo}
    problems = list(check_differences(documents, [specs[one.case] for one in documents]))
    if problems:
        raise PlanError(problems)


def _check_limits(documents: Sequence[VariantDocument], loaded: LoadedPlan, limits: Limits) -> None:
    """Check that no trial of a variant is beyond the limits of cost."""
    estimated = defaultdict(list)
    for trial, estimate in zip(loaded.trials, loaded.estimates, strict=True):
        estimated[trial.case].append((trial, estimate))

    def check(variant: VariantDocument) -> None:
        trial_estimates = estimated[variant.case]
        beyond = list(problems_beyond(trial_estimates, limits, variant.document, len(loaded.suite)))
        if beyond:
            raise PlanError(variant.document.problems(beyond))

    _for_each(documents, check)


def validate(document: Document, variant: str = BASE_VARIANT, variants: tuple[Variant, ...] = ()) -> Plan:
    """Return the plan that a document describes, as its base or as one of its variants.

    Args:
        document: The plan.
        variant: Name of the variant.
        variants: All variants, if the document leaves them out.

    Raises:
        PlanError: With everything that is wrong with it, in the order of the file.
    """
    _check_version(document)
    plan = _read(document.data, document)
    if variants:
        plan = plan.model_copy(update={"variants": variants})
    problems = with_cost(_in_order(check_plan(plan, document, variant)), document)
    if problems:
        raise PlanError(problems)
    return plan


def _read(data: dict[str, Any], document: Document) -> Plan:
    """Return the plan of some data; names in another spelling are replaced by those of the fields."""
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        renamed = with_canonical_names(data, error)
        if renamed is not data:
            return _read(renamed, document)
        problems = with_cost(_in_order(document.problems(field_problems(error))), document)
        raise PlanError(problems) from None  # the problems have all details, by the fields of the plan


def _check_version(document: Document) -> None:
    """Check the version first: other versions have other fields."""
    version = document.value(("fabricbench",))
    if type(version) is int and version == PLAN_VERSION:
        return
    if "fabricbench" not in document.data:
        hint = f"begin the file with `fabricbench: {PLAN_VERSION}`"
        raise PlanError([document.problem(("fabricbench",), "nothing", f"{PLAN_VERSION}", hint)])
    shown = str(version) if isinstance(version, int | float | str) else kind_name(version)
    hint = "a newer fabricbench may know it" if type(version) is int and version > PLAN_VERSION else ""
    raise PlanError([document.problem(("fabricbench",), f"version {shown[:40]}", f"{PLAN_VERSION}", hint)])


_REPORTED: Final = frozenset(
    {
        *("name", "title", "description", "tag", "seed", "iterations", "observe", "criteria"),
        *("search", "quick", "published", "published_note", "solo", "backend"),
    }
)
"""Fields that do not change the measured quantity: repetitions, backend and reporting."""


def _is_as_published(original: Document, changed: Document) -> bool:
    """Whether overrides changed nothing of the measured system but sizes and rounds."""
    try:
        return _measured(_read(original.data, original)) == _measured(_read(changed.data, changed))
    except PlanError:
        return False


def _measured(plan: Plan) -> list[Any]:
    """Return the fields that determine the results of a plan, without sizes and the number of rounds."""
    sweep = plan.sweep
    zipped = sweep.zipped if sweep else None
    swept = [dict(group.fields) if group else {} for group in (sweep, zipped)]
    free = {"data_bytes": None, "message_bytes": None, "repeat": 1, "warm_up_rounds": 0}
    jobs = [job.model_copy(update=free) for job in plan.jobs]
    others = {name: getattr(plan, name) for name in Plan.model_fields if name not in _REPORTED}
    return [swept, jobs, others | {"sweep": None, "jobs": None}]


def _other_than_published(document: Document) -> Problem:
    actual = "results of the plan as written, left out since more than sizes is changed"
    return document.problem(("published",), actual)


def _published(plan: Plan, path: Path, variant_document: VariantDocument) -> PublishedTable | None:
    """Read the published table that a plan names; none if it has no rows of the variant."""
    document = variant_document.document
    if plan.published is None or plan.scale != 1:  # they were measured at the rates as written
        return None
    published_path = find_published(plan.published, path)
    if published_path is None:
        shipped = published_tables()
        allowed = f"a file next to the plan, or a shipped one: {', '.join(shipped)}"
        hint = close_match_hint(plan.published, shipped)
        raise PlanError([document.problem(("published",), f'no file "{plan.published}"', allowed, hint)])
    table = read_published(published_path, variant_document.case.variant)
    if table.size_kind != size_kind(plan):
        actual = f'"{table.name}", a table of {table.size_kind} sizes'
        allowed = f"a table of {size_kind(plan)} sizes, which the plan sweeps"
        raise PlanError([document.problem(("published",), actual, allowed)])
    names = [variant.name for variant in plan.variants]
    unknown = next((name for name in table.variants if name not in names), None)
    if unknown is not None:
        actual_variant = f'"{table.name}", with rows of variant "{unknown}"'
        allowed = f"rows of {', '.join(names)}" if names else "a table without column `variant`"
        raise PlanError(
            [document.problem(("published",), actual_variant, allowed, close_match_hint(unknown, names))]
        )
    return table if table.rows else None


def _check_runnable(variant: VariantDocument, plan: Plan, limits: Limits | None) -> None:
    """Check a variant with the engine, unless the check alone would take more memory than the limit."""
    if limits is not None:
        too_many = routes_problem(plan)
        if too_many is not None:
            raise PlanError(variant.document.problems([too_many]))
        if limits.memory_bytes is not None:
            _check_memory(plan, variant.document, limits.memory_bytes)
    _check_with_engine(plan, variant.document)


def _check_memory(plan: Plan, document: Document, memory_bytes: int) -> None:
    """Check the memory of the first trial before the engine checks it, which builds its chunks."""
    spec_json = json.dumps(first_spec(plan))
    estimate = engine.estimate(spec_json, backend_for(spec_json, plan.backend))
    if estimate is not None and estimate["memory_bytes"] > memory_bytes:
        raise PlanError(document.problems([memory_problem("a trial", estimate, memory_bytes)]))


def _check_with_engine(plan: Plan, document: Document) -> None:
    """Check the first trial with the engine, and report its refusals with lines of the plan."""
    spec_json = json.dumps(first_spec(plan))
    refusals = engine.check(spec_json, backend_for(spec_json, plan.backend))
    problems = [_refused(refusal, plan, document) for refusal in refusals]
    balancing = plan.fabric.load_balancing
    if not problems:
        problems += uncovered(document, lambda: engine.describe(spec_json))
    if not problems and isinstance(balancing, Pinned):
        problems += document.problems(pin_problems(balancing.pins, engine.describe(spec_json)))
    if problems:
        raise PlanError(_in_order(problems))


def _refused(refusal: "engine.SpecError", plan: Plan, document: Document) -> Problem:
    """Return a refusal of the engine as a problem of a field of the plan.

    The range of a number is the engine's, in the units of the plan; the meaning of the field is the hint.
    """
    path = field_of(refusal.field, plan)
    if refusal.limits is None:
        hint = near_name_hint(plan, path, refusal.found) or _other_backend_hint(plan, refusal)
        return document.problem(path, refusal.found, refusal.allowed, hint)
    name, value = refusal.field.rpartition(".")[2], document.value(path)
    is_as_written = value is not None and plan.scale == 1
    actual = units.describe(value) if is_as_written else number_text(name, int(refusal.found))
    actual += f" at a scale of {plan.scale}" if plan.scale != 1 else ""
    allowed = range_text(name, refusal.limits)
    if refusal.limited_by is not None:
        other = field_of(refusal.limited_by, plan)
        allowed += f" with this `{other[-1] if other[:-1] == path[:-1] else dotted(other)}`"
    hint = meaning(path) if plan.scale == 1 else f"a smaller `scale`; {meaning(path)}"
    return document.problem(path, actual, allowed, hint)


def _other_backend_hint(plan: Plan, refusal: "engine.SpecError") -> str:
    """Return a hint to the backend that supports what the flow model refuses, or nothing."""
    if plan.backend != engine.FLOW or "flow model" not in refusal.allowed:
        return ""
    return "`--backend sim` simulates packets"


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by line, those of overrides last."""

    def key(problem: Problem) -> tuple[bool, int, int]:
        location = problem.place
        return (location.line is None, location.line or 0, location.column or 0)

    return sorted(problems, key=key)
