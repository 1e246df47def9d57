"""river's ADWIN and Page-Hinkley, row by row, reference rows first; one run for each setting.

Words are numbered by frequency in the reference, and everything is standardised by it. The
statistic names the detector; the score is -log10 of ADWIN's delta (shipped: 0.002), or
Page-Hinkley's threshold (shipped: 50). A row without a column names a setting that was run. A
missing value is passed over.
"""

from importlib.metadata import version

import numpy as np
import windows
from river import drift

DELTAS = (0.002, 1e-4, 1e-6, 1e-9, 1e-12, 1e-18, 1e-27, 1e-40, 1e-60, 1e-100)
THRESHOLDS = (50.0, 100.0, 200.0, 400.0, 800.0, 1_600.0, 3_200.0, 6_400.0)


def judge(stream, result):
    """Every column with every setting."""
    for delta in DELTAS:
        result.add("", 0, "ADWIN", -np.log10(delta), False)
    for threshold in THRESHOLDS:
        result.add("", 0, "PageHinkley", threshold, False)
    for name in stream.names:
        values = encoded(stream, name)
        present = np.flatnonzero(np.isfinite(values))
        listed, hours = values[present].tolist(), stream.hours[present]
        for delta in DELTAS:
            score, shipped = -np.log10(delta), delta == DELTAS[0]
            alarms(result, stream, name, drift.ADWIN(delta), listed, hours, score, shipped)
        for threshold in THRESHOLDS:
            detector = drift.PageHinkley(threshold=threshold)
            shipped = threshold == THRESHOLDS[0]
            alarms(result, stream, name, detector, listed, hours, threshold, shipped)


def alarms(result, stream, name, detector, values, hours, score, shipped):
    """Hours of the test rows in which the detector says drift."""
    found = set()
    for place, value in enumerate(values):
        detector.update(value)
        if detector.drift_detected:
            found.add(int(hours[place]))
    for hour in sorted(found):
        if hour >= stream.reference_hours:
            result.add(name, hour + 1, type(detector).__name__, score, shipped)


def encoded(stream, name):
    """Floats, NaN where missing."""
    reference, column = stream.reference[name], stream.frame[name]
    if name in stream.words:
        codes = {word: code for code, word in enumerate(reference.value_counts().index)}
        column = column.map(codes).astype(float).fillna(len(codes))
        reference = column.iloc[: stream.split]
    spread = reference.std() or 1.0
    return ((column - reference.mean()) / spread).to_numpy(np.float64)


if __name__ == "__main__":
    windows.run(judge, version("river"))
