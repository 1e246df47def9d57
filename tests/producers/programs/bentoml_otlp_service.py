"""A service whose monitor sends log records by OTLP; where to stands in OTEL_ variables."""

import bentoml


@bentoml.service(monitoring={"enabled": True, "type": "otlp"})
class Credit:
    @bentoml.api
    def classify(self, ages: list[float]) -> list[float]:
        scores = [min(1.0, age / 100) for age in ages]
        with bentoml.monitor("served") as monitor:
            for age, score in zip(ages, scores, strict=True):
                monitor.log(age, name="age", role="feature", data_type="numerical")
                monitor.log(score, name="score", role="prediction", data_type="numerical")
        return scores
