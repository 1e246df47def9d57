"""Evidently's drift of every column on each window, as its preset measures it.

Methods and thresholds are the package's choice. It reads the reference anew in each report, so it
gets 20,000 of its rows: far more than a window has, and than the 1,000 at which its rule changes.
"""

from importlib.metadata import version

import windows
from evidently import DataDefinition, Dataset, Report
from evidently.metrics import ValueDrift

REFERENCE_ROWS = 20_000


def judge(stream, result):
    """A report a window."""
    definition = DataDefinition(numerical_columns=stream.numbers, categorical_columns=stream.words)
    sampled = stream.reference[stream.names].sample(REFERENCE_ROWS, random_state=1)
    reference = Dataset.from_pandas(sampled, data_definition=definition)
    report = Report([ValueDrift(column=name) for name in stream.names])
    for end, frame in stream.windows():
        current = Dataset.from_pandas(frame[stream.names], data_definition=definition)
        for metric in report.run(current, reference).dict()["metrics"]:
            config = metric["config"]
            if config["type"].endswith(":ValueDrift"):
                value, threshold = float(metric["value"]), config["threshold"]
                small_is_drift = "p_value" in config["method"]
                alarm = value < threshold if small_is_drift else value >= threshold
                score = windows.suspicion(value) if small_is_drift else value
                result.add(config["column"], end, config["method"], score, alarm)


if __name__ == "__main__":
    windows.run(judge, version("evidently"))
