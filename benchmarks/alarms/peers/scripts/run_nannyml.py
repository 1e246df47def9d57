"""NannyML's univariate drift, missing and unseen values, each with its default thresholds.

The score is the distance from the mean of the reference chunks in their standard deviations: its
shipped limit is 3.
"""

import nannyml
import numpy as np
import windows
from nannyml.data_quality import MissingValuesCalculator, UnseenValuesCalculator
from nannyml.drift import UnivariateDriftCalculator

PERIODS = {24: "D", 1: "h"}


def judge(stream, result):
    """Three calculators, each fitted on the reference."""
    chunks = {
        "timestamp_column_name": "ts",
        "chunk_period": PERIODS[stream.window_hours],
    }
    drift = UnivariateDriftCalculator(
        column_names=stream.names, treat_as_categorical=stream.words, **chunks
    )
    missing = MissingValuesCalculator(column_names=stream.names, **chunks)
    calculators = [("drift", drift), ("missing", missing)]
    if stream.words:
        unseen = UnseenValuesCalculator(column_names=stream.words, **chunks)
        calculators.append(("unseen", unseen))
    for name, calculator in calculators:
        calculator.fit(stream.reference)
        collect(stream, result, name, calculator.calculate(stream.test))


def collect(stream, result, name, results):
    """Verdicts of every column; a chunk may be found under one or two headings."""
    usual = results.filter(period="reference").to_df()
    found = results.filter(period="analysis").to_df()
    starts = found[("chunk", "start_date") if name != "drift" else ("chunk", "chunk", "start_date")]
    starts = starts.astype("datetime64[s]").astype("int64").to_numpy()
    hours = (starts - stream.start) // windows.HOUR
    ends = hours // stream.window_hours * stream.window_hours + stream.window_hours
    for heading in {key[:-1] for key in found.columns if key[-1] == "value"}:
        before = usual[(*heading, "value")].to_numpy(float)
        values = found[(*heading, "value")].to_numpy(float)
        alarms = found[(*heading, "alert")].to_numpy(bool)
        for end, score, alarm in zip(ends, scores(before, values), alarms, strict=True):
            result.add(heading[0], end, f"{name} {' '.join(heading[1:])}".strip(), score, alarm)


def scores(before, values):
    """Distances in standard deviations; infinite where the reference never varied."""
    sd = np.nanstd(before)
    distance = np.abs(values - np.nanmean(before))
    if sd > 0:
        return np.nan_to_num(distance / sd)
    return np.where(distance > 0, np.inf, 0.0)


if __name__ == "__main__":
    windows.run(judge, nannyml.__version__)
