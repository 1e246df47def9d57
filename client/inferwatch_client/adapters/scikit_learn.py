"""scikit-learn: version tags of an estimator, and a stand-in for it that logs its predictions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from inferwatch_client.client import Client
from inferwatch_client.digests import NotDigestible, float_kinds, state_digest


def estimator_tags(estimator: Any) -> dict[str, str]:
    """runtime, runtime_version, precision (kinds of floats it holds) and model_digest of a fitted
    estimator. A tag that can't be found out is left out: unknown is not a value."""
    import numpy
    import sklearn

    tags = {
        "runtime": "scikit-learn",
        "runtime_version": sklearn.__version__,
        "build_options": f"numpy {numpy.__version__}",
        "accelerator": "none",
    }
    try:
        tags["model_digest"] = state_digest(estimator)
        kinds = float_kinds(estimator)
    except NotDigestible:
        return tags
    if kinds:
        tags["precision"] = "+".join(kinds)
    return tags


class WatchedEstimator:
    """Stands in for a fitted estimator: everything is passed on, and predictions are logged.

    Each row is one request. Its columns are the features by name (of a frame, else
    `feature_names`, else those of the fit) and what was predicted: `prediction`, and for
    `predict_proba` of two classes the second one's probability as `score`, of more classes all of
    them. `latency` is that of the whole call, as each row waited for it.
    """

    def __init__(
        self,
        client: Client,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        prediction: str = "prediction",
        score: str = "score",
        latency: str | None = "latency",
        tags: Mapping[str, str] | None = None,
        model: str | None = None,
        leg: str | None = None,
    ) -> None:
        """`tags` are added to those of `estimator_tags`, and win."""
        self._client = client
        self._estimator = estimator
        self._names = feature_names
        self._prediction = prediction
        self._score = score
        self._latency = latency
        self._place: dict[str, Any] = {
            "tags": {**estimator_tags(estimator), **(tags or {})},
            "model": model,
            "leg": leg,
        }

    def __getattr__(self, name: str) -> Any:
        if name == "_estimator":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self._estimator, name)

    def predict(self, features: Any, **more: Any) -> Any:
        """As the estimator's."""
        return self._watch("predict", features, more)

    def predict_proba(self, features: Any, **more: Any) -> Any:
        """As the estimator's."""
        return self._watch("predict_proba", features, more)

    def _watch(self, method: str, features: Any, more: dict[str, Any]) -> Any:
        moment, began = time.time_ns(), time.perf_counter()
        try:
            answer = getattr(self._estimator, method)(features, **more)
        except Exception as error:
            self._log_failure(features, moment, error)
            raise
        milliseconds = (time.perf_counter() - began) * 1e3
        try:
            self._log(method, features, answer, moment, milliseconds)
        except Exception as error:  # noqa: BLE001 - nothing may ever reach the model
            self._client.count_drop("columns_failed", _rows_of(features), type(error).__name__)
        return answer

    def _log(
        self, method: str, features: Any, answer: Any, moment: int, milliseconds: float
    ) -> None:
        columns = self._features(features)
        if method == "predict":
            columns[self._prediction] = answer
        else:
            columns[self._score] = answer[:, 1] if answer.shape[1] == 2 else answer
        if self._latency is not None:
            columns[self._latency] = [milliseconds] * len(answer)
        self._client.log_requests(columns, event_time=moment, **self._place)

    def _features(self, features: Any) -> dict[str, Any]:
        if hasattr(features, "columns"):
            return {str(name): features[name].to_numpy() for name in features.columns}
        names = self._names
        if names is None:
            names = getattr(self._estimator, "feature_names_in_", ())
        import numpy

        table = features.toarray() if hasattr(features, "toarray") else numpy.asarray(features)
        return {str(name): table[:, place] for place, name in enumerate(names)}

    def _log_failure(self, features: Any, moment: int, error: Exception) -> None:
        for _ in range(_rows_of(features)):
            self._client.log_request(
                {},
                event_time=moment,
                outcome="failed",
                outcome_reason=type(error).__name__,
                **self._place,
            )


def _rows_of(features: Any) -> int:
    shape = getattr(features, "shape", None)
    if shape is not None and len(shape):
        return int(shape[0])
    return len(features) if hasattr(features, "__len__") else 1
