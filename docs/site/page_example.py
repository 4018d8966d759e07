# SPDX-License-Identifier: MIT
"""The program and its output in a section of docs/engines.md, for the tests that run it."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def example_of(section: str) -> tuple[str, str]:
    """What stands in the section's ```python fence, and in the ```text fence after it."""
    page = (ROOT / "docs/engines.md").read_text()
    text = page.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.search(r"```python\n(.*?)```\n.*?```text\n(.*?)```", text, re.S).groups()
