# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests stand on: a scripted sink, a process under test, judges that are not our code."""
import importlib.util
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


class Skip(Exception):
    """Raised by a test that cannot run here; the runner shows the reason."""


def corpus(folder):
    """The folder of the corpus beside the checkout; skips where there is none."""
    path = Path(os.environ.get("PROFRELAY_CORPUS", ROOT.parent / "shared" / "corpus")) / folder
    if not path.is_dir():
        raise Skip(f"no corpus: {path} is not there")
    return path


def tool(name):
    """A tool beside the checkout; skips where there is none."""
    path = ROOT.parent / "shared" / "tools" / name
    if not path.is_file():
        raise Skip(f"{path} is not there")
    return path


def load_tool(name):
    """The same as a module."""
    path = tool(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def soak_seconds():
    """How long an outage lasts: short on every run, a minute in a soak."""
    return float(os.environ.get("PROFRELAY_SOAK_SECONDS", "3"))
