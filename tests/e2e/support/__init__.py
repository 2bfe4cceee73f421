# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests stand on: a scripted sink, a process under test, judges that are not our code."""
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


def soak_seconds():
    """How long an outage lasts: short on every run, a minute in a soak."""
    return float(os.environ.get("PROFRELAY_SOAK_SECONDS", "3"))
