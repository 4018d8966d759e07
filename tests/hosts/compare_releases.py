#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_releases.py [--folder FOLDER] [OLD [NEW]]: what a release of transformers changes for cordage's reader of configs.

Downloads the wheels of two releases of transformers (12 MB each; by default the one of the recorded requirements and the
newest), gives every rotary class of each the default configs of its models, and prints what is new, gone, or answered
otherwise: a rule that agrees with the class, one that differs, or a refusal. Exits with 1 if there is anything to do: a new
class that is not read, or a rule that differs.

Runs in the environment of tests/hosts (torch, numpy, pytest), whose own transformers is not used.
"""
import argparse
import hashlib
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def verdicts(program):
    """For each rotary class its code and what cordage says of each config: {class: {"code": ..., "configs": {...}}}."""
    import rotary_classes as classes
    import test_configs as tests

    cases = list(tests.rotating())
    asked = "\n".join(json.dumps({"text": config.to_json_string(), "lengths": (1,)}) for _, config, _ in cases)
    done = subprocess.run([program], input=asked, stdout=subprocess.PIPE, text=True, check=True)
    found = {name: {"code": hashlib.sha256(inspect.getsource(rotary).encode()).hexdigest(), "configs": {}}
             for name, rotary in classes.rotary_classes().items()}
    for (path, config, rotary), line in zip(cases, done.stdout.splitlines()):
        answer = json.loads(line)
        try:
            if "error" in answer:
                is_known = tests.rotates_nothing(path, config, answer) or tests.class_fails(config, rotary)
                told = "no rotation" if is_known else "tower" if tests.TOWER in answer["error"] else f"refused: {answer['error']}"
            else:
                why = tests.complaints(config, rotary, answer)
                told = f"differs: {why[0]}" if why else "agrees"
        except Exception as failure:  # a class that this release calls in another way
            told = f"not compared: {failure!r}"
        found.setdefault(rotary.__name__, {"code": "", "configs": {}})["configs"][path] = told
    return found


def wheel(version, folder):
    """The folder of a release's unpacked wheel, and its version; None: the newest."""
    asked = "transformers" if version is None else f"transformers=={version}"
    to = folder / (version or "newest")
    to.mkdir(parents=True, exist_ok=True)
    for old in to.glob("*.whl") if version is None else []:
        old.unlink()
    if not list(to.glob("*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(to), asked], check=True)
    file, = to.glob("*.whl")
    found = file.name.split("-")[1]
    unpacked = folder / f"transformers-{found}"
    if not unpacked.exists():
        zipfile.ZipFile(file).extractall(unpacked)
    return unpacked, found


def told_by(release, program):
    environment = os.environ | {"PYTHONPATH": f"{release}{os.pathsep}{HERE}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__, "--verdicts", program], env=environment, stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{release.name} does not run with the packages here; ./run test --hosts --newest installs its own")
    return json.loads(done.stdout.splitlines()[-1])


def pinned():
    lists = [ROOT / "examples/torch_extension/requirements.txt", HERE / "requirements.txt"]
    return re.search(r"^transformers==(\S+)", "\n".join(path.read_text() for path in lists), re.MULTILINE)[1]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/releases")
    options.add_argument("--verdicts", help=argparse.SUPPRESS)
    options.add_argument("old", nargs="?", default=None)
    options.add_argument("new", nargs="?", default=None)
    given = options.parse_args()
    if given.verdicts:
        print(json.dumps(verdicts(given.verdicts)))
        return 0
    (old, old_version), (new, new_version) = wheel(given.old or pinned(), given.folder), wheel(given.new, given.folder)
    if old_version == new_version:
        print(f"transformers {new_version} is the newest")
        return 0
    program = str(given.folder / "config_bases")
    subprocess.run(["g++", "-std=c++20", "-O1", f"-I{ROOT / 'include'}", str(HERE / "config_bases.cpp"), "-o", program], check=True)
    before, after = told_by(old, program), told_by(new, program)
    to_do = 0
    print(f"transformers {old_version} -> {new_version}: {len(before)} -> {len(after)} rotary classes")
    for name in sorted(before.keys() - after.keys()):
        print(f"  gone: {name}")
    same_answers = []
    for name in sorted(after):
        is_new = name not in before
        was = before.get(name, {"code": "", "configs": {}})
        lines = [f"{path}: {told}" for path, told in sorted(after[name]["configs"].items()) if was["configs"].get(path) != told]
        has_other_code = not is_new and was["code"] != after[name]["code"]
        if has_other_code and not lines:
            same_answers.append(name.replace("RotaryEmbedding", ""))
        if is_new or lines:
            print(f"  {'new' if is_new else 'other code' if has_other_code else 'other configs or answers'}: {name}")
            print("".join(f"    {line}\n" for line in lines), end="")
        to_do += sum(told.startswith(("differs", "refused", "not compared")) for told in after[name]["configs"].values()
                     if told not in was["configs"].values())
    if same_answers:
        print(f"  other code, same answers: {len(same_answers)} classes")
        print(textwrap.fill(", ".join(same_answers), 120, initial_indent="    ", subsequent_indent="    "))
    print(f"{to_do} to do" if to_do else "nothing to do")
    return min(to_do, 1)


if __name__ == "__main__":
    sys.exit(main())
