"""alibi-detect's KS and chi-square detectors, one a column.

Their p-values equal those of its TabularDrift, which takes no missing values. As shipped it
alarms at 0.05, divided by the number of columns of the watched table. Hourly windows are
compared with 10,000 reference rows, daily ones with all of them.
"""

from importlib.metadata import version

import numpy as np
import windows
from alibi_detect.cd import ChiSquareDrift, KSDrift

LEVEL, WATCHED_COLUMNS = 0.05, 20
HOURLY_REFERENCE = 10_000


def judge(stream, result):
    """A detector a column, a prediction a window."""
    reference = stream.reference
    if stream.window_hours < 24:
        reference = reference.sample(HOURLY_REFERENCE, random_state=1)
    frames = list(stream.windows())
    for name in stream.names:
        is_words = name in stream.words
        codes = (
            {word: code for code, word in enumerate(sorted(reference[name].unique()))}
            if is_words
            else None
        )
        detector = (ChiSquareDrift if is_words else KSDrift)(encoded(reference[name], codes))
        for end, frame in frames:
            values = encoded(frame[name], codes)
            if len(values):
                p_value = float(detector.predict(values)["data"]["p_val"][0])
                alarm = p_value < LEVEL / WATCHED_COLUMNS
                result.add(name, end, type(detector).__name__, windows.suspicion(p_value), alarm)


def encoded(column, codes):
    """Values as a matrix of one column; words as codes, a word never seen as the code beyond."""
    if codes is not None:
        return column.map(codes).fillna(len(codes)).to_numpy(np.int64)[:, None]
    return column.dropna().to_numpy(np.float64)[:, None]


if __name__ == "__main__":
    windows.run(judge, version("alibi-detect"))
