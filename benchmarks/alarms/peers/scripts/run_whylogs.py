"""whylogs' drift scores between profiles: KS for numbers, chi-square for words, p < 0.05."""

from importlib.metadata import version

import whylogs
import windows
from whylogs.viz.drift.column_drift_algorithms import calculate_drift_scores


def judge(stream, result):
    """A profile a window."""
    reference = whylogs.log(stream.reference[stream.names]).view()
    for end, frame in stream.windows():
        target = whylogs.log(frame[stream.names]).view()
        for column, score in calculate_drift_scores(
            target, reference, with_thresholds=True
        ).items():
            if score is not None:
                alarm = score["drift_category"] == "DRIFT"
                suspicion = windows.suspicion(score["pvalue"])
                result.add(column, end, score["algorithm"], suspicion, alarm)


if __name__ == "__main__":
    windows.run(judge, version("whylogs"))
