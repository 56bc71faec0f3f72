"""Generates the Python modules of the agents' protocol from its definition.

python tools/generate_protocol.py            # write
python tools/generate_protocol.py --check    # exit status 1 when a file is stale
"""

from __future__ import annotations

import argparse
import importlib.resources
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROTOCOL = Path("fabricbench/hosts/proto/agent.proto")
_MODULES = ("agent_pb2.py", "agent_pb2.pyi", "agent_pb2_grpc.py")


def generated() -> dict[Path, str]:
    """Return the text of each module."""
    tools = importlib.resources.files("grpc_tools") / "_proto"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "grpc_tools.protoc"),
                *(f"-I{ROOT / 'python'}", f"-I{tools}"),
                *(f"--python_out={folder}", f"--pyi_out={folder}", f"--grpc_python_out={folder}"),
                str(PROTOCOL),
            ],
            cwd=ROOT / "python",
            check=True,
        )
        target = ROOT / "python" / PROTOCOL.parent
        return {target / name: (Path(folder) / PROTOCOL.parent / name).read_text() for name in _MODULES}


def main() -> int:
    """Write the modules, or check them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail when a file is stale")
    check_only = parser.parse_args().check
    status = 0
    for path, text in generated().items():
        if not check_only:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"error: {path.relative_to(ROOT)} is stale\n")
            sys.stderr.write("hint: python tools/generate_protocol.py\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
