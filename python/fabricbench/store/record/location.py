"""Stores records (result tables) of trials outside the workspace: in a bucket or at another fsspec URL.

Each attempt at a trial has a unique name there, ID.TOKEN, and its content never changes. So nothing has to be
renamed, which buckets do not support: a record counts once the catalog refers to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fabricbench.store.catalog.rows import RECORD_NAME
from fabricbench.store.errors import StoreError, UnreachableError, is_disk_full, write_error
from fabricbench.words import install_hint

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

QUARANTINE_FOLDER = "damaged"
"""Folder to which `repair` moves unusable records, instead of removing them."""

_MARK_FILE = "fabricbench.txt"
_FORMS = "write s3://bucket/folder, gs://bucket/folder, file:///folder or another URL that fsspec knows"
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure"}
_LOCAL = {"file", "local"}


def place_and_name(url: str) -> tuple[str, str]:
    """Split the URL of a record into its location and its name there."""
    location, _, name = url.rpartition("/")
    return location, name


class Location:
    """Records at a URL.

    Attributes:
        url: The URL, without a trailing slash.
    """

    def __init__(self, url: str) -> None:
        """Parse the URL, without a connection.

        Raises:
            StoreError: The URL cannot be parsed, contains a password, or its driver is not installed.
        """
        self.url = url.rstrip("/")
        self._is_checked = False
        scheme, separator, path = self.url.partition("://")
        if not separator or not scheme:
            raise StoreError(url, "the URL of the tables cannot be read", _FORMS)
        if scheme in _LOCAL and not path.startswith("/"):
            raise StoreError(url, "the URL of the tables is of no absolute path", "write file:///folder")
        self._refuse_password()
        self._require_driver(scheme.rpartition("::")[2])

    def _refuse_password(self) -> None:
        parts = urlsplit(self.url.rpartition("::")[2])
        if parts.password is not None:
            url_without_password = self.url.replace(f":{parts.password}@", ":***@")
            hint = f"leave it out, and set FSSPEC_{parts.scheme.upper()}_PASSWORD or what the driver reads"
            raise StoreError(
                url_without_password,
                "the URL of the tables holds a password, which the catalog would keep",
                hint,
            )

    def _require_driver(self, protocol: str) -> None:
        extra = _EXTRAS.get(protocol, "tables")
        install = install_hint(extra, "fsspec")
        try:
            from fsspec import get_filesystem_class
        except ModuleNotFoundError as error:
            raise StoreError(self.url, "the package fsspec is not installed", install) from error
        try:
            get_filesystem_class(protocol)
        except ValueError as error:
            raise StoreError(self.url, f"fsspec knows no protocol {protocol}://", _FORMS) from error
        except ImportError as error:
            hint = install if protocol in _EXTRAS else "install the package that this names"
            raise StoreError(self.url, f"its driver is not installed: {error}", hint) from error

    @contextmanager
    def _reached(self) -> Iterator[tuple[AbstractFileSystem, str]]:
        """Connect, and convert errors to ones with hints; the connection is closed afterwards."""
        from fsspec.core import url_to_fs

        try:
            files, path = url_to_fs(self.url)
            files.invalidate_cache()
            yield files, path.rstrip("/")
        except (StoreError, FileNotFoundError):
            raise
        except PermissionError as error:
            message = f"no permission: {_reason(error)}"
            raise StoreError(
                self.url, message, "ask for the right to list, read, write and remove"
            ) from error
        except Exception as error:  # each driver has its own error types
            if isinstance(error, OSError) and is_disk_full(error):
                raise StoreError(self.url, f"no room is left: {_reason(error)}", "make room there") from error
            hint = "check the URL, the network and the credentials that the driver of fsspec reads"
            raise UnreachableError(self.url, f"cannot be reached: {_reason(error)}", hint) from error

    def check(self) -> None:
        """Write a small file once, to check access, creating the last folder of the URL if it is missing.

        Raises:
            StoreError: The location cannot be reached or written.
        """
        if self._is_checked:
            return
        text = b"The folders beside this file are records of fabricbench; its catalog says which count.\n"
        try:
            with self._reached() as (files, path):
                try:
                    files.pipe_file(f"{path}/{_MARK_FILE}", text)
                except PermissionError:
                    raise
                except Exception:  # noqa: BLE001 -- the second attempt raises the error
                    _make_last_folder(files, path)
                    files.pipe_file(f"{path}/{_MARK_FILE}", text)
        except FileNotFoundError as error:
            message = f"there is no such place: {_reason(error)}"
            raise StoreError(
                self.url, message, "make the bucket, or the folder above the last one"
            ) from error
        self._is_checked = True

    def upload(self, folder: Path, name: str) -> None:
        """Copy the files of a folder to a new name, and check that each has arrived in full.

        Raises:
            StoreError: The location cannot be reached or written, or a file is incomplete.
        """
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
        try:
            with self._reached() as (files, path):
                target = f"{path}/{name}"
                files.makedirs(target, exist_ok=True)
                files.put([str(folder / file) for file in sizes], [f"{target}/{file}" for file in sizes])
                files.invalidate_cache()
                size_by_file = {
                    _last(entry["name"]): entry["size"] for entry in files.ls(target, detail=True)
                }
        except FileNotFoundError as error:
            raise self._not_there(error) from error
        incomplete = [file for file, size_bytes in sizes.items() if size_by_file.get(file) != size_bytes]
        if incomplete:
            message = f"{', '.join(incomplete)} of record {name} did not arrive in whole"
            raise StoreError(self.url, message, "run the plan again with --resume")

    def download(self, name: str, file: str, target: Path) -> None:
        """Copy a file of a record to a local one.

        Raises:
            FileNotFoundError: There is none.
            StoreError: The location cannot be reached or read, or the local disk is full.
        """
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        except OSError as error:
            raise write_error(target, error) from error
        with self._reached() as (files, path):
            source = f"{path}/{name}/{file}"
            if not files.exists(source):
                raise FileNotFoundError(source)
            files.get_file(source, str(target))

    def files(self, name: str) -> set[str]:
        """Return the names of the files of a record; empty if there is no such record.

        Raises:
            StoreError: The location cannot be reached or read.
        """
        return self._names(name)

    def records(self) -> set[str]:
        """Return the names of all records, including those that are being written.

        Raises:
            StoreError: The location cannot be reached or read.
        """
        return {name for name in self._names("") if RECORD_NAME.fullmatch(name)}

    def _names(self, folder: str) -> set[str]:
        try:
            with self._reached() as (files, path):
                return {_last(entry) for entry in files.ls(f"{path}/{folder}".rstrip("/"), detail=False)}
        except FileNotFoundError:
            return set()

    def remove(self, name: str) -> None:
        """Remove a record if it exists.

        Raises:
            StoreError: The location cannot be reached or written.
        """
        try:
            with self._reached() as (files, path):
                if files.exists(f"{path}/{name}"):
                    files.rm(f"{path}/{name}", recursive=True)
        except FileNotFoundError:
            return

    def quarantine(self, name: str) -> str | None:
        """Move a record to the folder `damaged` of the location.

        Returns:
            Its URL there; None if there is no such record.

        Raises:
            StoreError: The location cannot be reached or written.
        """
        file_names = self.files(name)
        if not file_names:
            return None
        try:
            with self._reached() as (files, path):
                target = f"{path}/{QUARANTINE_FOLDER}/{name}"
                files.makedirs(target, exist_ok=True)
                for file in sorted(file_names):
                    files.mv(f"{path}/{name}/{file}", f"{target}/{file}")
        except FileNotFoundError as error:
            raise self._not_there(error) from error
        self.remove(name)
        return f"{self.url}/{QUARANTINE_FOLDER}/{name}"

    def _not_there(self, error: FileNotFoundError) -> StoreError:
        hint = "make the bucket or folder again, or name another with FABRICBENCH_TABLES_URL"
        return StoreError(self.url, f"there is no such place any more: {_reason(error)}", hint)


def _make_last_folder(files: AbstractFileSystem, path: str) -> None:
    """Create the last folder of a path. A bucket, which has no parent, is not created."""
    if "/" in path:
        with suppress(FileExistsError):
            files.mkdir(path, create_parents=False)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _last(path: str) -> str:
    return PurePosixPath(path).name
