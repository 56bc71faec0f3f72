"""A disk that fills during a run, as the user sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN, call
from tests.support.small_disk import NoMountError, small_disk


class SecondIsLarge(FakeBackend):
    """Writes little for the first trial and 2 MB for the second."""

    runs = 0

    def run(self, *arguments: Any, **options: Any) -> Any:
        self.runs += 1
        backend = (
            FakeBackend(copies=6000, batch_rows=8000, is_noisy=True) if self.runs == 2 else FakeBackend()
        )
        return backend.run(*arguments, **options)


def test_the_message_names_the_file_and_the_room_and_finished_trials_stay(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    try:
        with small_disk(tmp_path / "disk", 1 << 20):
            finished = call("run", "small.yaml", "--workspace", "disk", cwd=tmp_path, backend=SecondIsLarge())
            assert finished.returncode == 2
            assert "chunks.parquet: cannot write: No space left on device" in finished.stderr
            assert "bytes are free there\nhint: free some space" in finished.stderr
            listed = call("trials", "--workspace", "disk", "--format", "json", cwd=tmp_path)
            statuses = [trial["status"] for trial in json.loads(listed.stdout)["trials"]]
            assert statuses == ["complete", "failed"]
            assert call("show", "latest", "--workspace", "disk", cwd=tmp_path).returncode == 0
    except NoMountError as reason:
        pytest.skip(f"cannot mount a tmpfs here: {reason}; tests/store has a file size limit in its place")
