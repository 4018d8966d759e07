#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes files and folders out of a wheel or an sdist, and notes the package's version."""
import argparse
import json
import pathlib
import tarfile
import zipfile


def members(archive):
    """(path inside the package, function that reads it) of every file."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                if not info.is_dir():
                    yield info.filename, lambda info=info: wheel.read(info)
    else:
        with tarfile.open(archive) as sdist:
            for info in sdist:
                if info.isfile():
                    yield info.name.split("/", 1)[-1], lambda info=info: sdist.extractfile(info).read()


def unpack(archive, folder, wanted):
    """Writes the files and folders named in `wanted`; returns the number of files."""
    root, count = folder.resolve(), 0
    for name, read in members(archive):
        if any(name == path or name.startswith(path.rstrip("/") + "/") for path in wanted):
            target = (root / name).resolve()
            if not target.is_relative_to(root):
                raise ValueError(f"{archive.name}: {name} leaves the folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(read())
            count += 1
    return count


def name_and_version(archive):
    """The version in a file name, name-version.tar.gz or name-version-tags.whl."""
    name, version = archive.name.removesuffix(".tar.gz").split("-")[:2]
    return name.replace("_", "-"), version


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("wanted", nargs="+")
    parser.add_argument("--versions", type=pathlib.Path, required=True, help="JSON file that gets the version")
    settings = parser.parse_args()
    if unpack(settings.archive, settings.folder, settings.wanted) == 0:
        raise SystemExit(f"unpack.py: {settings.archive} has none of {settings.wanted}")
    versions = json.loads(settings.versions.read_text()) if settings.versions.exists() else {}
    name, version = name_and_version(settings.archive)
    settings.versions.write_text(json.dumps(versions | {name: version}))


if __name__ == "__main__":
    main()
