#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make_samples.py DIR: pprof files of our own that say everything pprof can say."""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from support import pprof_make  # noqa: E402

SAMPLES = {
    "plain.pb.gz": {},
    "raw.pb": {"compressed": False, "labels": False},
    "everything.pb.gz": {"comments": ("one", "two", "one"), "default_type": "cpu", "drop_frames": "^drop$",
                         "keep_frames": "^keep$", "doc_url": "https://example.com/doc", "odd_labels": True},
    "four_types.pb.gz": {"types": (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                                   ("inuse_space", "bytes")), "default_type": "inuse_space",
                         "period_type": ("space", "bytes"), "period": 524288},
    "one_type.pb.gz": {"types": (("wall", "microseconds"),), "comments": ("alone",)},
    "twice.pb.gz": {"twice": True},
    "no_mapping.pb.gz": {"mappings": 0, "duration_nanos": 0, "period": 0, "period_type": ("", "")},
    "no_time.pb.gz": {"time_nanos": 0},
    "empty.pb.gz": {"samples": 0},
    "deep.pb.gz": {"depth": 500, "locations": 900},
    "no_stacks.pb.gz": {"depth": 0},
    "dropped.pb.gz": {"samples": 200, "drop_frames": "work_[0-4]|.*7", "keep_frames": "work_3"},
    "dropped_to_the_root.pb.gz": {"samples": 50, "drop_frames": "work_.*"},
    "no_rule.pb.gz": {"drop_frames": "work_((", "keep_frames": "work_3"},
    "unused_mappings.pb.gz": {"mappings": 40, "samples": 3, "depth": 2, "locations": 200},
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, options) in enumerate(SAMPLES.items()):
        pprof_make.write(folder / name, pprof_make.make(seed=seed, **options))


main()
