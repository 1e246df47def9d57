"""Evidently's drift preset on frames in memory. Runs in the environment of that package.

    python peer_evidently.py REFERENCE.arrow CURRENT.arrow

Every method is the package's own choice.
"""

import json
import sys
import time
from importlib.metadata import version

import pandas as pd
import pyarrow as pa
from evidently import DataDefinition, Dataset, Report
from evidently.presets import DataDriftPreset


def main(reference_file: str, current_file: str) -> None:
    """Print one line of JSON."""
    frames = [read(reference_file), read(current_file)]
    names = list(frames[0].columns)
    definition = DataDefinition(
        numerical_columns=[name for name in names if name.startswith("number")],
        categorical_columns=[name for name in names if name.startswith("category")],
    )
    reference, current = (
        Dataset.from_pandas(frame, data_definition=definition) for frame in frames
    )
    started, used = time.perf_counter(), time.process_time()
    snapshot = Report([DataDriftPreset()]).run(current, reference)
    ended = time.perf_counter()
    print(
        json.dumps(
            {
                "seconds": ended - started,
                "cpu_seconds": time.process_time() - used,
                "rows": len(frames[1]),
                "figures": len(snapshot.dict()["metrics"]),
                "version": version("evidently"),
            }
        )
    )


def read(name: str) -> pd.DataFrame:
    """An Arrow file as a frame."""
    with pa.memory_map(name) as source:
        return pa.ipc.open_file(source).read_all().to_pandas()


if __name__ == "__main__":
    main(*sys.argv[1:])
