"""fabricbench: an open test platform for AI network fabrics."""

__all__ = ["__version__"]

__version__: str


def __getattr__(name: str) -> str:
    """Look the version up only when it is asked for: the package metadata is slow to read."""
    if name != "__version__":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib.metadata import version

    return version("fabricbench")
