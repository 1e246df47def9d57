"""NannyML's multivariate drift (PCA reconstruction error) with its default thresholds.

A stream of clean columns gives one verdict a window on all of them, under the name `*`. Where the
stream holds shifted columns too, named `SHIFT.COLUMN`, each takes its column's place in turn, and
verdicts carry its name. The score is that of run_nannyml.py.
"""

import nannyml
import windows
from nannyml.drift import DataReconstructionDriftCalculator
from run_nannyml import PERIODS, scores

EVERY = "*"


def judge(stream, result):
    """Fitted once on the clean reference."""
    clean = [name for name in stream.names if "." not in name]
    calculator = DataReconstructionDriftCalculator(
        column_names=clean,
        timestamp_column_name="ts",
        chunk_period=PERIODS[stream.window_hours],
    )
    calculator.fit(stream.reference[["ts", *clean]])
    shifted = [name for name in stream.names if "." in name]
    for name in shifted or [EVERY]:
        rows = stream.test[["ts", *clean]].copy()
        if name != EVERY:
            rows[name.partition(".")[2]] = stream.test[name]
        collect(stream, result, name, calculator.calculate(rows))


def collect(stream, result, name, results):
    """One verdict a chunk."""
    heading = "reconstruction_error"
    before = results.filter(period="reference").to_df()[(heading, "value")].to_numpy(float)
    found = results.filter(period="analysis").to_df()
    starts = found[("chunk", "start_date")].astype("datetime64[s]").astype("int64").to_numpy()
    hours = (starts - stream.start) // windows.HOUR
    ends = hours // stream.window_hours * stream.window_hours + stream.window_hours
    values, alarms = found[(heading, "value")].to_numpy(float), found[(heading, "alert")]
    for end, score, alarm in zip(ends, scores(before, values), alarms, strict=True):
        result.add(name, end, heading, score, alarm)


if __name__ == "__main__":
    windows.run(judge, nannyml.__version__)
