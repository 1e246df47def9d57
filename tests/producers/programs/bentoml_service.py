"""A service whose monitor writes files; its log folder stands in the environment."""

import os

import bentoml

KIND = {"enabled": True, "type": "default", "options": {"log_path": os.environ["MONITOR_LOGS"]}}


@bentoml.service(monitoring=KIND)
class Credit:
    @bentoml.api
    def classify(self, age: float) -> float:
        with bentoml.monitor("credit_files") as monitor:
            monitor.log(age, name="age", role="feature", data_type="numerical")
            score = min(1.0, age / 100)
            monitor.log(score, name="score", role="prediction", data_type="numerical")
        return score
