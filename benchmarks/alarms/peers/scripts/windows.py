"""Streams, windows and results, as every script of a peer needs them. Runs in any environment.

    python run_PEER.py REFERENCE_HOURS WINDOW_HOURS STREAM.arrow RESULT.arrow [STREAM RESULT ...]

Prints a line of JSON for each stream: what it cost. A result has a row for each column, window and
statistic: `score` grows with suspicion, `alarm` is the verdict of the package as it is shipped,
`end` the hour (from the stream's start) at which the window ends.
"""

import json
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa

HOUR = 3_600


class Stream:
    """The rows of a stream: reference rows, and windows of the rows after them."""

    def __init__(self, path, reference_hours, window_hours):
        with pa.memory_map(path) as source:
            frame = pa.ipc.open_file(source).read_all().to_pandas()
        self.names = [name for name in frame.columns if name != "ts"]
        self.words = [
            name for name in self.names if isinstance(frame[name].dtype, pd.CategoricalDtype)
        ]
        self.numbers = [name for name in self.names if name not in self.words]
        for name in self.words:
            frame[name] = frame[name].astype(object)
        seconds = frame["ts"].astype("int64").to_numpy() // 10 ** _decimals(frame["ts"])
        self.start = int(seconds.min() // HOUR * HOUR)
        self.hours = (seconds - self.start) // HOUR
        self.frame = frame
        self.reference_hours, self.window_hours = reference_hours, window_hours
        self.split = int(np.searchsorted(self.hours, reference_hours))

    @property
    def reference(self):
        """The reference rows."""
        return self.frame.iloc[: self.split]

    @property
    def test(self):
        """The rows after them."""
        return self.frame.iloc[self.split :]

    def windows(self):
        """Pairs of end hour and rows, windows without rows left out."""
        last = int(self.hours.max()) + 1
        for start in range(self.reference_hours, last, self.window_hours):
            end = start + self.window_hours
            first, beyond = np.searchsorted(self.hours, (start, end))
            if beyond > first:
                yield end, self.frame.iloc[first:beyond]


class Result:
    """Collects verdicts and writes them."""

    def __init__(self):
        self.rows = []

    def add(self, column, end, statistic, score, alarm):
        """One verdict on one window of one column."""
        self.rows.append((column, int(end), statistic, float(score), bool(alarm)))

    def write(self, path):
        """As an Arrow file."""
        columns = list(zip(*self.rows, strict=True)) or [()] * 5
        kinds = (pa.string(), pa.int64(), pa.string(), pa.float64(), pa.bool_())
        names = ("column", "end", "statistic", "score", "alarm")
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        table = pa.table(dict(zip(names, arrays, strict=True)))
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


def run(judge, version):
    """Read the command line; `judge(stream, result)` fills the result of each stream."""
    reference_hours, window_hours, *paths = sys.argv[1:]
    for path, result_path in zip(paths[::2], paths[1::2], strict=True):
        stream, result = Stream(path, int(reference_hours), int(window_hours)), Result()
        started, used = time.perf_counter(), time.process_time()
        judge(stream, result)
        cost = {
            "seconds": round(time.perf_counter() - started, 3),
            "cpu_seconds": round(time.process_time() - used, 3),
            "verdicts": len(result.rows),
            "version": version,
        }
        result.write(result_path)
        print(json.dumps(cost), flush=True)


def suspicion(p_value):
    """-log10 of a p-value; 400 for 0."""
    return -np.log10(p_value) if p_value > 0 else 400.0


def _decimals(times):
    return {"s": 0, "ms": 3, "us": 6, "ns": 9}[times.dt.unit]
