"""Builds the wheel with profile-guided optimisation, using branch counts of the benchmarks of `make bench`.

Three steps: build the benchmarks with counters, run them, and build the wheel with the counts. The results of
simulations and the supported processors are the same. With --bench, the benchmarks instead of the wheel are
built with the counts, and run, to measure the gain.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "target/tuned"
BENCH = ("cargo", "bench", "--quiet", "--locked", "-p", "fabricbench-sim", "--bench", "fabric", "--")
WORKLOADS = ("B1", "B2", "B3", "B4", "B5")
HINT = "hint: rustup component add llvm-tools, or apt-get install llvm-{major}, or --llvm-profdata PROGRAM"


def main() -> None:
    """Build the wheel into a folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the wheel")
    parser.add_argument(
        "--bench", nargs=argparse.REMAINDER, help="run the benchmarks, with these options of theirs"
    )
    parser.add_argument(
        "--llvm-profdata", default=None, help="the program; by default of the toolchain or the system"
    )
    options = parser.parse_args()
    merge = options.llvm_profdata or _of_toolchain() or _of_system()
    if merge is None:
        sys.exit(f"error: no llvm-profdata found\n{HINT.format(major=_llvm_major())}")
    counts, profile = TARGET / "counts", TARGET / "fabricbench.profdata"
    shutil.rmtree(counts, ignore_errors=True)
    _count(counts)
    if subprocess.run([merge, "merge", "-o", profile, counts], check=False).returncode:
        hint = HINT.format(major=_llvm_major())
        sys.exit(f"error: {merge} does not read what rustc {_of_rustc('release')} writes\n{hint}")
    build = [*_maturin(), "--out", str(options.out)] if options.bench is None else [*BENCH, *options.bench]
    _run(build, f"-Cprofile-use={profile}")


def _count(counts: Path) -> None:
    """Build the benchmarks with counters, and run them."""
    _run([*BENCH, "--runs", "1", "--threads", "1", *WORKLOADS], f"-Cprofile-generate={counts}")


def _maturin() -> list[str]:
    return [str(Path(sys.executable).with_name("maturin")), "build", "--quiet", "--release"]


def _run(command: list[str], flags: str) -> None:
    environment = os.environ | {"RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(TARGET)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def _of_toolchain() -> str | None:
    """Return the program of the component llvm-tools, if it is installed."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True)
    program = Path(sysroot.stdout.strip()) / f"lib/rustlib/{_of_rustc('host')}/bin/llvm-profdata"
    return str(program) if program.is_file() else None


def _of_system() -> str | None:
    """Return the system's program for the compiler's LLVM, by its name in Debian, or else any."""
    return shutil.which(f"llvm-profdata-{_llvm_major()}") or shutil.which("llvm-profdata")


def _llvm_major() -> str:
    return _of_rustc("LLVM version").split(".")[0]


def _of_rustc(fact: str) -> str:
    """Return a fact in the output of `rustc -vV`, such as host, release or LLVM version."""
    output = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return dict(line.split(": ", 1) for line in output.splitlines() if ": " in line)[fact]


if __name__ == "__main__":
    main()
