"""Loads a plan: file, overrides, fields, and what only the whole shows. Every error is a `PlanError`."""

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
from fabricbench.plan.cost import Limits, memory_problem, problems_beyond, routes_problem, with_cost
from fabricbench.plan.devices.switch_config import Configurations, Configured, override_of, uncovered
from fabricbench.plan.devices.switch_values import CONFIG
from fabricbench.plan.document.document import Document, read_file, read_text
from fabricbench.plan.document.nodes import kind_name
from fabricbench.plan.document.overrides import apply_overrides
from fabricbench.plan.document.published import PublishedTable, read_published
from fabricbench.plan.document.shipped import NO_FILE, find_plan, find_published, published_tables
from fabricbench.plan.document.validate import field_problems, meaning, with_known_names
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem, dotted
from fabricbench.plan.expand import PlannedTrial, expand_variants, first_spec
from fabricbench.plan.fabric.balancing import Pinned
from fabricbench.plan.fabric.graph_names import near_name_hint
from fabricbench.plan.fabric.pins import pin_problems
from fabricbench.plan.fields.spec_fields import number_text, plan_path, range_text
from fabricbench.plan.flow_error import backend_for
from fabricbench.plan.loaded import LoadedPlan, LoadedVariant
from fabricbench.plan.model import PLAN_VERSION, Plan
from fabricbench.plan.profile import profile_of, with_nic
from fabricbench.plan.rails import rail_warnings
from fabricbench.plan.search import range_of
from fabricbench.plan.sweep.labels import BASE_VARIANT, shared_variant
from fabricbench.plan.sweep.resolve import VariantDocument, check_differences, told_once, variant_documents
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
        limits: What a trial may be estimated to cost; anything by default.
        chosen: Names of the variants to run; all by default.
        quick: Change it first as its `quick` says.

    Raises:
        PlanError: With everything that is wrong with it, or with the first trial beyond a limit.
    """
    path, source = find_plan(name)
    document = read_file(path, source)
    if not quick:
        return _load(document, path, tuple(overrides), limits, chosen)
    without = _without_criteria(document)
    loaded = _load(document, path, (*_quick_overrides(document), *without, *overrides), limits, chosen)
    if without and not loaded.plan.criteria:
        found = "limits of the plan as written, which are not judged with --quick"
        left_out = document.problem(("criteria",), found)
        loaded = replace(loaded, warnings=(*loaded.warnings, left_out))
    return loaded


def _without_criteria(document: Document) -> list[str]:
    """Return the override that leaves the criteria out: they are about the plan as written.

    Those that `quick` has itself, or by which a search judges, stay.
    """
    quick = document.data.get("quick")
    changed = quick if isinstance(quick, dict) else {}
    stays = "search" in document.data or any(name.partition(".")[0] == "criteria" for name in changed)
    return [] if stays or not document.data.get("criteria") else ["criteria=[]"]


def _quick_overrides(document: Document) -> list[str]:
    """Return the overrides that make a plan quick.

    Raises:
        PlanError: It does not say how.
    """
    changes = document.data.get("quick")
    if changes is None:
        hint = "choose what is small enough: -s sweep.data_size=[1MB]"
        allowed = "quick: {FIELD: VALUE}, what --quick changes"
        raise PlanError([Problem(Place(document.source), "quick", "nothing", allowed, hint)])
    if not isinstance(changes, dict):
        return []  # the check of the fields says so
    return [f"{name}={json.dumps(value)}" for name, value in changes.items()]


def load_fields(fields: Mapping[str, Any]) -> LoadedPlan:
    """Load a plan from the fields of its YAML; a published table that it names is a shipped one.

    Raises:
        PlanError: With everything that is wrong with it, by the line of the fields written as JSON.
    """
    try:
        text = json.dumps(fields, indent=2)
    except (TypeError, ValueError, RecursionError) as error:
        allowed = "numbers, texts, booleans, lists and mappings"
        raise PlanError([Problem(Place(_FIELDS), "", f"what is no plan: {error}", allowed)]) from error
    return _load(read_text(text, _FIELDS), NO_FILE)


def load_text(
    text: str,
    source: str,
    overrides: Iterable[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    """Load a plan from YAML text; no file is read but a shipped published table, if it names one.

    Args:
        text: The YAML.
        source: Its name in errors.
        overrides: Changes for this run, each FIELD=VALUE.
        limits: What a trial may be estimated to cost; anything by default.
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
    """Return the document of a plan, overrides included, to say where in it something stands."""
    return apply_overrides(read_text(loaded.text, loaded.source), loaded.overrides)


def _load(
    document: Document,
    path: Path,
    overrides: tuple[str, ...] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    written, document = document, apply_overrides(document, overrides)
    profile, configurations = profile_of(document, path), Configurations(path)

    def completed(one: Document) -> Configured:
        return configurations.applied(with_nic(profile.applied(one) if profile else one))

    own = completed(document)
    plan = validate(own.document)
    documents = variant_documents(plan, document)
    configured = _each(documents, lambda one: completed(one.document))
    documents = [
        replace(one, document=each.document) for one, each in zip(documents, configured, strict=True)
    ]
    _check_chosen(chosen, plan)
    is_published = not overrides or _is_as_published(written, document)
    variants = _each(documents, lambda one: _loaded(one, plan, path))
    if not is_published:
        variants = [replace(variant, published=None) for variant in variants]
    wanted = [one for one in documents if not chosen or one.label in chosen]
    plans = {variant.case: variant.plan for variant in variants}
    _each(wanted, lambda one: _check_runnable(one, plans[one.case], limits))
    trials = expand_variants(plans)
    _check_differences(documents, trials)
    warnings = [
        (one, each) for one in wanted for each in one.document.problems(plan_warnings(plans[one.case]))
    ]
    if plan.published is not None and not is_published and documents:
        warnings.append((documents[0], _other_than_published(document)))
    warnings += [
        (one, warning)
        for one, each in zip(documents, configured, strict=True)
        if not chosen or one.label in chosen
        for warning in each.warnings
    ]
    specs = {trial.case: trial.run_spec for trial in reversed(trials) if not trial.is_solo}
    warnings += [
        (one, each) for one in wanted for each in one.document.problems(rail_warnings(specs[one.case]))
    ]
    labels = {one.label for one in wanted}
    loaded = LoadedPlan(
        plan,
        path,
        document.source,
        document.text,
        overrides,
        tuple(variants),
        [trial for trial in trials if shared_variant(trial.variant) in labels],
        tuple(trials),
        tuple(_in_order(told_once(warnings, wanted))),
        tuple(_records(own, documents, configured)),
    )
    if plan.search is not None:
        return replace(loaded, ends=tuple(_ends(loaded, document, limits, chosen)))
    if limits is not None:
        _check_limits(wanted, loaded, limits)
    return loaded


def _ends(
    loaded: LoadedPlan, document: Document, limits: Limits | None, chosen: Sequence[str]
) -> Iterator[LoadedPlan]:
    """Yield a plan at both ends of the range of its search: what it is itself is not run.

    Raises:
        PlanError: It cannot be carried out there, or beyond the limits.
    """
    searched = range_of(loaded.plan, document)
    for name, value in (("from", searched.low), ("to", searched.high)):
        try:
            yield reload(loaded, searched.at(value), limits, chosen)
        except PlanError as error:
            text = searched.text(value)
            raise PlanError(_at_end(each, name, text, document) for each in error.problems) from error


def _at_end(problem: Problem, name: str, value: str, document: Document) -> Problem:
    """Return what is wrong with a plan at an end of its search as a mistake of that end."""
    found = f"{value}, with which {problem.field or problem.place.source} is {problem.found}"
    return document.problem(("search", name), found, problem.allowed, problem.hint)


def _records(
    own: Configured, documents: Sequence[VariantDocument], configured: Sequence[Configured]
) -> Iterator[str]:
    """Yield overrides with what configurations gave: of the plan, and of variants with one of their own."""
    if own.record is not None:
        yield override_of(own.record)
    told: set[str] = set()
    for one, each in zip(documents, configured, strict=True):
        is_own = one.document.value(CONFIG) != own.document.value(CONFIG)
        if one.path and is_own and each.record is not None and one.label not in told:
            told.add(one.label)
            yield override_of(each.record, one.label)


def _each(documents: Sequence[VariantDocument], of: Callable[[VariantDocument], _T]) -> list[_T]:
    """Return what a function makes of each variant.

    Raises:
        PlanError: With the problems of all of them; those that every variant has are the plan's own.
    """
    found: list[_T] = []
    problems: list[tuple[VariantDocument, Problem]] = []
    for one in documents:
        try:
            found.append(of(one))
        except PlanError as error:
            problems += ((one, problem) for problem in error.problems)
    if problems:
        raise PlanError(told_once(problems, documents))
    return found


def _loaded(one: VariantDocument, plan: Plan, path: Path) -> LoadedVariant:
    """Check a variant by itself; the plan as it stands has been checked."""
    if not one.is_plan:
        plan = validate(one.document, one.label, plan.variants)
    return LoadedVariant(one.case, plan, _published(plan, path, one))


def _check_chosen(chosen: Sequence[str], plan: Plan) -> None:
    """Check that each variant that the user chose is there."""
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
    """Check that no trial of a variant would cost more than it may."""
    estimated = defaultdict(list)
    for trial, estimate in zip(loaded.trials, loaded.estimates, strict=True):
        estimated[trial.case].append((trial, estimate))

    def check(one: VariantDocument) -> None:
        own = estimated[one.case]
        beyond = list(problems_beyond(own, limits, one.document, len(loaded.suite)))
        if beyond:
            raise PlanError(one.document.problems(beyond))

    _each(documents, check)


def validate(document: Document, variant: str = BASE_VARIANT, variants: tuple[Variant, ...] = ()) -> Plan:
    """Return the plan that a document describes, as it stands or as a variant of it.

    Args:
        document: The plan.
        variant: The variant that it is.
        variants: All variants, where the document leaves them out.

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
    """Return the plan of some data; names that are spelt in another way are taken as those they are."""
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        renamed = with_known_names(data, error)
        if renamed is not data:
            return _read(renamed, document)
        problems = with_cost(_in_order(document.problems(field_problems(error))), document)
        raise PlanError(problems) from None  # the problems say all of it, in the words of the plan


def _check_version(document: Document) -> None:
    """Check the version before anything else: of another version no other field is known."""
    found = document.value(("fabricbench",))
    if type(found) is int and found == PLAN_VERSION:
        return
    if "fabricbench" not in document.data:
        hint = f"begin the file with `fabricbench: {PLAN_VERSION}`"
        raise PlanError([document.problem(("fabricbench",), "nothing", f"{PLAN_VERSION}", hint)])
    shown = str(found) if isinstance(found, int | float | str) else kind_name(found)
    hint = "a newer fabricbench may know it" if type(found) is int and found > PLAN_VERSION else ""
    raise PlanError([document.problem(("fabricbench",), f"version {shown[:40]}", f"{PLAN_VERSION}", hint)])


_REPORTED: Final = frozenset(
    {
        *("name", "title", "description", "tag", "seed", "iterations", "observe", "criteria"),
        *("search", "quick", "published", "published_note", "solo", "backend"),
    }
)
"""Fields that leave open what is measured: how often, by which backend, and how it is reported."""


def _is_as_published(written: Document, changed: Document) -> bool:
    """Check that overrides changed nothing but sizes and rounds of what was measured."""
    try:
        return _measured(_read(written.data, written)) == _measured(_read(changed.data, changed))
    except PlanError:
        return False


def _measured(plan: Plan) -> list[Any]:
    """Return what decides the results of a plan, without sizes and the number of rounds."""
    sweep = plan.sweep
    zipped = sweep.zipped if sweep else None
    swept = [dict(group.fields) if group else {} for group in (sweep, zipped)]
    free = {"data_bytes": None, "message_bytes": None, "repeat": 1, "warm_up_rounds": 0}
    jobs = [job.model_copy(update=free) for job in plan.jobs]
    others = {name: getattr(plan, name) for name in Plan.model_fields if name not in _REPORTED}
    return [swept, jobs, others | {"sweep": None, "jobs": None}]


def _other_than_published(document: Document) -> Problem:
    found = "results of the plan as written, left out since more than sizes is changed"
    return document.problem(("published",), found)


def _published(plan: Plan, path: Path, one: VariantDocument) -> PublishedTable | None:
    """Read the published table that a plan names; none where it has nothing of the variant."""
    document = one.document
    if plan.published is None or plan.scale != 1:  # they were measured at the rates as written
        return None
    found = find_published(plan.published, path)
    if found is None:
        shipped = published_tables()
        allowed = f"a file next to the plan, or a shipped one: {', '.join(shipped)}"
        hint = close_match_hint(plan.published, shipped)
        raise PlanError([document.problem(("published",), f'no file "{plan.published}"', allowed, hint)])
    table = read_published(found, one.case.variant)
    if table.size_kind != size_kind(plan):
        found_sizes = f'"{table.name}", a table of {table.size_kind} sizes'
        allowed = f"a table of {size_kind(plan)} sizes, which the plan sweeps"
        raise PlanError([document.problem(("published",), found_sizes, allowed)])
    names = [variant.name for variant in plan.variants]
    unknown = next((name for name in table.variants if name not in names), None)
    if unknown is not None:
        found_rows = f'"{table.name}", with rows of variant "{unknown}"'
        allowed = f"rows of {', '.join(names)}" if names else "a table without column `variant`"
        raise PlanError(
            [document.problem(("published",), found_rows, allowed, close_match_hint(unknown, names))]
        )
    return table if table.rows else None


def _check_runnable(one: VariantDocument, plan: Plan, limits: Limits | None) -> None:
    """Check what only the engine knows, unless that alone would take more memory than there is."""
    if limits is not None:
        too_many = routes_problem(plan)
        if too_many is not None:
            raise PlanError(one.document.problems([too_many]))
        if limits.memory_bytes is not None:
            _check_memory(plan, one.document, limits.memory_bytes)
    _check_with_engine(plan, one.document)


def _check_memory(plan: Plan, document: Document, memory_bytes: int) -> None:
    """Look at the first trial before the engine does, which makes its chunks to check them."""
    spec_json = json.dumps(first_spec(plan))
    estimate = engine.estimate(spec_json, backend_for(spec_json, plan.backend))
    if estimate is not None and estimate["memory_bytes"] > memory_bytes:
        raise PlanError(document.problems([memory_problem("a trial", estimate, memory_bytes)]))


def _check_with_engine(plan: Plan, document: Document) -> None:
    """Let the engine check the first trial, so that what only it knows is also reported with its line."""
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
    """Say in the words of the plan what the engine refuses.

    What a number may be is the engine's to say; its range gets the units of the plan, and the meaning of the
    field as its hint.
    """
    path = field_of(refusal.field, plan)
    if refusal.limits is None:
        hint = near_name_hint(plan, path, refusal.found) or _other_backend_hint(plan, refusal)
        return document.problem(path, refusal.found, refusal.allowed, hint)
    name, written = refusal.field.rpartition(".")[2], document.value(path)
    is_as_written = written is not None and plan.scale == 1
    found = units.describe(written) if is_as_written else number_text(name, int(refusal.found))
    found += f" at a scale of {plan.scale}" if plan.scale != 1 else ""
    allowed = range_text(name, refusal.limits)
    if refusal.limited_by is not None:
        other = field_of(refusal.limited_by, plan)
        allowed += f" with this `{other[-1] if other[:-1] == path[:-1] else dotted(other)}`"
    hint = meaning(path) if plan.scale == 1 else f"a smaller `scale`; {meaning(path)}"
    return document.problem(path, found, allowed, hint)


def _other_backend_hint(plan: Plan, refusal: "engine.SpecError") -> str:
    """Name the backend that carries out what the flow model refuses, if there is one."""
    if plan.backend != engine.FLOW or "flow model" not in refusal.allowed:
        return ""
    return "`--backend sim` simulates packets"


def field_of(spec_field: str, plan: Plan) -> FieldPath:
    """Return the field of the plan for one of the run spec that was made from it."""
    path, rate_control = plan_path(spec_field), plan.transport.rate_control
    if path[:2] == ("fabric", "failures") and path[2:]:
        return (*path[:2], plan.fabric.failure_of(int(path[2])), *path[3:])
    if path[:2] == ("transport", "rate_control") and rate_control is not None:
        return (*path[:2], *rate_control.kinds, *path[2:]) if path[2:] else path
    return (*path[:2], "infiniband", *path[2:]) if path[:2] == ("fabric", "link_layer") else path


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by line; those of overrides come last."""

    def key(problem: Problem) -> tuple[bool, int, int]:
        place = problem.place
        return (place.line is None, place.line or 0, place.column or 0)

    return sorted(problems, key=key)
