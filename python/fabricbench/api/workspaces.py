"""Workspaces in Python: open one, read its trials, runs and campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabricbench.api.campaigns import Campaign
from fabricbench.api.trial import Trial
from fabricbench.api.trials import Trials
from fabricbench.store import Workspace as Store
from fabricbench.store.queries.listing import ordered
from fabricbench.store.queries.views import merged_parameters, query_of


class Workspace:
    """A folder of trials; the command line and other programs may use it at the same time.

    Attributes:
        root: Its folder.

    Example:
        >>> import fabricbench as fb
        >>> len(fb.workspace(workspace).trials(tag="example"))
        2
    """

    def __init__(self, store: Store) -> None:
        """Take an open store; `fabricbench.workspace` opens one."""
        self._store = store
        self.root: Path = store.root

    def trials(
        self,
        *,
        plan: str | None = None,
        tag: str | None = None,
        where: str | Sequence[str] = (),
        sort: str | None = None,
        descending: bool | None = None,
        job: str | None = None,
        view: str | None = None,
    ) -> Trials:
        """Return the finished trials, by default the oldest first.

        A trial shared by several runs is returned once: as part of the last run that executed it, or with
        `plan`, of the last such run of that plan.

        Args:
            plan: Only those of the plan of this name.
            tag: Only those with this tag.
            where: A threshold of a metric, such as `"ideal_percent<50"`, or several; the job that is worst in
                it counts.
            sort: A metric, or a column of the list such as `plan`; trials without a value are last. By
                default the oldest are first.
            descending: Whether the largest is first.
            job: The job whose metrics count in `where` and `sort`, in place of the worst.
            view: Name of a saved view; the other arguments extend it or replace parts of it.

        Raises:
            UnknownViewError: There is no such view.
            ThresholdError: A metric is unknown, or a threshold cannot be read; a `ValueError`.
            StoreError: The catalog cannot be read.

        Example:
            >>> import fabricbench as fb
            >>> len(fb.workspace(workspace).trials(plan="jct-alltoall", tag="none such"))
            0
            >>> len(fb.workspace(workspace).trials(tag="example", where="ideal_percent>98"))
            1
        """
        where = [where] if isinstance(where, str) else where
        filters = {"plan": plan, "tag": tag, "job": job, "sort": sort, "where": where}
        query_fields = merged_parameters(self._store, view, filters, descending=descending)
        trials = ordered(self._store, query_of(query_fields))
        return Trials([Trial(trial, self._store) for trial in trials if trial.is_finished])

    def trial(self, name: str) -> Trial:
        """Return one finished trial.

        Args:
            name: Its id, the beginning of it, `latest`, `latest~1` and so on, or the name of a plan for its
                last trial.

        Raises:
            UnknownTrialError: No finished trial matches, or several do.
            StoreError: The catalog cannot be read.

        Example:
            >>> import fabricbench as fb
            >>> fb.workspace(workspace).trial(run[0].id[:8])
            <Trial ... jct-alltoall, 16 MB: complete>
        """
        return Trial(self._store.find(name), self._store)

    def run_of(self, trial: Trial) -> Trials:
        """Return the finished trials that the same plan expanded to, in its order.

        Raises:
            StoreError: The catalog cannot be read.

        Example:
            >>> import fabricbench as fb
            >>> len(fb.workspace(workspace).run_of(run[1]))
            2
        """
        members = self._store.suite(trial.stored)
        return Trials([Trial(member, self._store) for member in members])

    def campaign(self, file: str | Path, *, job: str | None = None, relative: bool = False) -> Campaign:
        """Return the results of a campaign from its stored trials, without running any.

        Args:
            file: The file of the campaign; its trials are found by their run specs.
            job: The job whose metrics count, in place of the worst one.
            relative: Whether effects and settings use values relative to the mean of the same plan and size,
                so that small sizes count as much as large ones.

        Raises:
            PlanError: The file, or a plan of it, cannot be read.
            StoreError: The catalog cannot be read.

        Example:
            >>> import fabricbench as fb
            >>> file = workspace / "sizes.yaml"
            >>> text = "plans: [{plan: jct-alltoall, seeds: 1, sweep: {data_size: [16MB, 32MB]}}]"
            >>> _ = file.write_text(f"{{campaign: 1, name: sizes, {text}}}")
            >>> fb.workspace(workspace).campaign(file)
            <Campaign sizes: 2 of 2 trials have a record>
        """
        return Campaign(self._store, Path(file), job, relative=relative)

    @property
    def store(self) -> Store:
        """The store of the workspace, the argument of the runner.

        Example:
            >>> import fabricbench as fb
            >>> fb.workspace(workspace).store.root == workspace
            True
        """
        return self._store

    def __repr__(self) -> str:
        return f"<Workspace {self.root}>"


def workspace(root: str | Path | None = None, *, create: bool = False) -> Workspace:
    """Open a workspace.

    Args:
        root: Its folder; by default that of the environment variable FABRICBENCH_WORKSPACE, or else
            `fabricbench-workspace` in the current folder.
        create: Create the folder if it does not exist.

    Raises:
        StoreError: The folder does not exist or cannot be read; the text has a hint.

    Example:
        >>> import fabricbench as fb
        >>> fb.workspace(workspace)
        <Workspace ...>
    """
    return Workspace(Store.open(None if root is None else Path(root), create=create))
