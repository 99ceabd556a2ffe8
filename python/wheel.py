"""Write a wheel of unitd: the Python package, and the programs of one platform.

The same programs, sources and version give the same bytes. Python 3.11 is needed,
and nothing else. "make wheel" builds the programs and calls it for each platform.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# A program without a C library runs with any. Go 1.26 asks for macOS 12.
TAGS = {
    "linux/amd64": ["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"],
    "linux/arm64": ["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
    "darwin/amd64": ["macosx_12_0_x86_64"],
    "darwin/arm64": ["macosx_12_0_arm64"],
}

# One that is there for each platform, and one that may be.
PROGRAMS = {"unitd": True, "unitd-hooktool": True, "unitd-hooktool-c": False}

# The earliest time that a zip archive can say.
DAWN = (1980, 1, 1, 0, 0, 0)

_WORDS = {"alpha": "a", "beta": "b", "rc": "rc"}


def pep440(version: str) -> str:
    """Return a version of the repository as packages of Python have it.

    1.2.0 is itself, 1.2.0-rc.1 is 1.2.0rc1, 0.0.0-dev+COMMIT is 0.0.0.dev0+gCOMMIT.
    """
    match = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc|dev)\.?(\d*))?(?:\+([0-9A-Za-z.]+))?", version)
    if not match:
        raise SystemExit(f"{version!r} is not a version like 1.2.0, 1.2.0-rc.1 or 0.0.0-dev+COMMIT")
    release, word, number, local = match.groups()
    if word == "dev":
        release += f".dev{number or 0}"
    elif word:
        release += f"{_WORDS[word]}{number or 0}"
    return f"{release}+g{local.lower()}" if local else release


def metadata(project: dict[str, Any], version: str) -> str:
    """Return METADATA, version 2.4 of the core metadata."""
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}"]
    lines += [f"Keywords: {','.join(project['keywords'])}", f"License-Expression: {project['license']}", "License-File: LICENSE"]
    lines += [f"Classifier: {c}" for c in project["classifiers"]]
    lines.append(f"Requires-Python: {project['requires-python']}")
    for extra, needs in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {need}; extra == '{extra}'" for need in needs]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / project["readme"]).read_text()]
    return "\n".join(lines)


def entry_points(project: dict[str, Any]) -> str:
    """Return entry_points.txt."""
    groups = project.get("entry-points", {})
    return "\n".join(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items())


def contents(project: dict[str, Any], version: str, platform: str, programs: Path) -> Iterator[tuple[str, bytes, int]]:
    """Yield each file of the wheel but RECORD: its name, what is in it, and its mode."""
    name = f"unitd-{version}"
    for path in sorted((HERE / "unitd").rglob("*")):
        if path.is_file() and path.suffix in {".py", ".typed"} and path.name != "_version.py":
            yield f"unitd/{path.relative_to(HERE / 'unitd').as_posix()}", path.read_bytes(), 0o644
    yield "unitd/_version.py", f'"""The version of this package."""\n\n__version__ = "{version}"\n'.encode(), 0o644
    for program, needed in PROGRAMS.items():
        path = programs / program
        if needed or path.exists():
            yield f"{name}.data/scripts/{program}", path.read_bytes(), 0o755
    info = f"{name}.dist-info"
    wheel = ["Wheel-Version: 1.0", "Generator: unitd", "Root-Is-Purelib: false"]
    wheel += [f"Tag: py3-none-{tag}" for tag in TAGS[platform]]
    yield f"{info}/METADATA", metadata(project, version).encode(), 0o644
    yield f"{info}/WHEEL", ("\n".join(wheel) + "\n").encode(), 0o644
    yield f"{info}/entry_points.txt", entry_points(project).encode(), 0o644
    yield f"{info}/licenses/LICENSE", (HERE.parent / "LICENSE").read_bytes(), 0o644


def write(out: Path, platform: str, version: str, programs: Path) -> Path:
    """Write the wheel into the directory out, and return its path."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    path = out / f"unitd-{version}-py3-none-{'.'.join(TAGS[platform])}.whl"
    out.mkdir(parents=True, exist_ok=True)
    record: list[str] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(name: str, data: bytes, mode: int) -> None:
            entry = zipfile.ZipInfo(name, DAWN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, which has modes
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data)

        for name, data, mode in contents(project, version, platform, programs):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
            add(name, data, mode)
        listing = f"unitd-{version}.dist-info/RECORD"
        add(listing, "".join(f"{line}\n" for line in [*record, f"{listing},,"]).encode(), 0o644)
    return path


def main() -> None:
    """Write the wheel that the command line asks for, and print its path."""
    parser = argparse.ArgumentParser(description="Write a wheel of unitd.")
    parser.add_argument("--platform", choices=sorted(TAGS), required=True)
    parser.add_argument("--version", required=True, help="as 1.2.0, 1.2.0-rc.1 or 0.0.0-dev+COMMIT")
    parser.add_argument("--programs", type=Path, required=True, help="the directory with the programs")
    parser.add_argument("--out", type=Path, required=True, help="the directory for the wheel")
    args = parser.parse_args()
    print(write(args.out, args.platform, pep440(args.version), args.programs))


if __name__ == "__main__":
    main()
