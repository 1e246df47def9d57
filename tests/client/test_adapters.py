"""Version tags and logging for scikit-learn and ONNX Runtime, with the real libraries."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import sklearn
from inferwatch_client.adapters.onnx_runtime import WatchedSession, session_tags, weight_kinds
from inferwatch_client.adapters.scikit_learn import WatchedEstimator, estimator_tags
from inferwatch_client.digests import file_digest, state_digest
from onnx import TensorProto, helper, numpy_helper
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.client.conftest import Place

ROOT = Path(__file__).parents[2]


def data(seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, 200), "income": rng.normal(size=200)})
    return frame, np.where(frame["age"] + 20 * frame["income"] > 50, "yes", "no")


def fitted(estimator: Any, seed: int = 0) -> Any:
    return estimator.fit(*data(seed))


ESTIMATORS = [
    lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    lambda: RandomForestClassifier(5, random_state=1),
    lambda: HistGradientBoostingClassifier(max_iter=3, random_state=1),
]


@pytest.mark.parametrize("make", ESTIMATORS)
def test_a_digest_names_the_fitted_model_and_not_its_place_in_memory(make: Any) -> None:
    model = fitted(make())
    kept = io.BytesIO()
    joblib.dump(model, kept)
    kept.seek(0)
    assert state_digest(joblib.load(kept)) == state_digest(model) == state_digest(fitted(make()))
    assert state_digest(fitted(make(), seed=2)) != state_digest(model)


def test_the_tags_of_an_estimator_are_those_of_its_library() -> None:
    model = fitted(make_pipeline(StandardScaler(), LogisticRegression()))
    tags = estimator_tags(model)
    assert tags["runtime"] == "scikit-learn"
    assert tags["runtime_version"] == sklearn.__version__
    assert tags["precision"] == "float64"
    assert tags["model_digest"] == state_digest(model)
    smaller = fitted(LogisticRegression())
    smaller.coef_ = smaller.coef_.astype(np.float32)
    smaller.intercept_ = smaller.intercept_.astype(np.float32)
    assert estimator_tags(smaller)["precision"] == "float32"


def test_each_row_of_a_prediction_is_a_request(place: Place, collector: str) -> None:
    client = place.client(collector)
    frame, _ = data()
    plain = fitted(LogisticRegression())
    model = WatchedEstimator(client, plain, tags={"model_version": "3"})
    first = frame.head(4)
    scores = model.predict_proba(first)
    assert (scores == plain.predict_proba(first)).all()
    assert list(model.predict(first)) == list(plain.predict(first))
    assert model.classes_ is plain.classes_
    with pytest.raises(ValueError, match="feature"):
        model.predict(frame[["age"]].head(2))
    assert client.flush()
    client.close()
    rows = place.logged("age, score, prediction, latency, outcome, outcome_reason")
    scored = sorted(row for row in rows if row.score is not None)
    assert [row.age for row in scored] == sorted(first["age"])
    assert {round(row.score, 9) for row in scored} == {round(score, 9) for score in scores[:, 1]}
    assert sorted(row.prediction for row in rows if row.prediction) == sorted(plain.predict(first))
    assert [row.outcome_reason for row in rows if row.outcome == "failed"] == ["ValueError"] * 2
    [(tags,)] = place.rows("select tags from deployment where model_id = :model")
    assert tags["model_version"] == "3"
    assert tags["model_digest"] == state_digest(plain)


def test_features_without_names_take_those_that_are_given(place: Place, collector: str) -> None:
    client = place.client(collector)
    frame, labels = data()
    plain = LogisticRegression().fit(frame.to_numpy(), labels)
    model = WatchedEstimator(client, plain, feature_names=["age", "income"], latency=None)
    model.predict(frame.head(2).to_numpy())
    assert client.flush()
    client.close()
    assert sorted(row.age for row in place.logged("age")) == sorted(frame["age"].head(2))


def onnx_file(folder: Path, kind: Any = np.float32) -> Path:
    """A linear model of two inputs with weights of a kind."""
    weights = numpy_helper.from_array(np.array([[0.25], [0.5]], kind), "weights")
    nodes = [
        helper.make_node("Cast", ["weights"], ["w"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "w"], ["score"]),
    ]
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "linear.onnx"
    onnx.save(model, path)
    return path


def session(path: Path) -> Any:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(("kind", "name"), [(np.float32, "float32"), (np.float16, "float16")])
def test_the_tags_of_a_session_are_what_the_runtime_uses(
    tmp_path: Path, kind: Any, name: str
) -> None:
    path = onnx_file(tmp_path, kind)
    tags = session_tags(session(path), path)
    assert tags["runtime"] == "onnxruntime"
    assert tags["runtime_version"] == onnxruntime.__version__
    assert tags["runtime_backend"] == "CPUExecutionProvider"
    assert tags["accelerator"] == "none"
    assert tags["precision"] == name
    assert tags["model_digest"] == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert "model_version" not in tags
    assert file_digest(path, path) != tags["model_digest"]


def test_kinds_of_weights_survive_a_file_that_breaks_off(tmp_path: Path) -> None:
    whole = onnx_file(tmp_path).read_bytes()
    assert weight_kinds(whole) == ["float32"]
    for end in range(0, len(whole), 7):
        assert weight_kinds(whole[:end]) in ([], ["float32"])
    assert weight_kinds(b"\xff" * 100) == []


def test_each_run_of_a_session_is_a_request(place: Place, collector: str, tmp_path: Path) -> None:
    client = place.client(collector)
    path = onnx_file(tmp_path)
    watched = WatchedSession(
        client,
        session(path),
        lambda inputs, outputs: {"place": inputs["x"][0], "score": outputs["score"][0, 0]},
        model_path=path,
    )
    given = np.array([[1.0, 0.5]], np.float32)
    [answer] = watched.run(None, {"x": given})
    given[:] = 9
    assert answer[0, 0] == 0.5
    with pytest.raises(Exception, match=r"[Ii]nvalid"):
        watched.run(None, {"x": np.zeros((1, 3), np.float32)})
    assert watched.get_inputs()[0].name == "x"
    assert client.flush()
    client.close()
    rows = place.logged("place, score, outcome, latency")
    [good] = [row for row in rows if row.outcome == "answered"]
    assert (list(good.place), good.score) == ([1.0, 0.5], 0.5)
    assert good.latency > 0
    assert len([row for row in rows if row.outcome == "failed"]) == 1
    tags = place.rows("select tags from deployment where model_id = :model")
    assert tags == [(session_tags(session(path), path),)]


def test_no_library_of_models_is_loaded_by_importing_the_client() -> None:
    program = (
        "import sys\n"
        "import inferwatch_client.client, inferwatch_client.asgi, inferwatch_client.decorators\n"
        "import inferwatch_client.images, inferwatch_client.audio\n"
        "import inferwatch_client.adapters.scikit_learn, inferwatch_client.adapters.pytorch\n"
        "import inferwatch_client.adapters.onnx_runtime\n"
        "print({'numpy', 'sklearn', 'torch', 'onnxruntime', 'PIL'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "client",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "set()"
