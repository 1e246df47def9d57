"""Serves the demo's model over HTTP, so that its golden set can be replayed against it.

    python examples/flights/serve.py --precision float64 --port 8900
    python examples/flights/serve.py --precision float16 --port 8901

POST /predict takes one flight as a JSON object and answers `score` and `predicted_late`.
"""

from __future__ import annotations

import argparse
from typing import Annotated, Literal

import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from monitor.demo.classifier import (
    THRESHOLD,
    TRAINING_FIRST_DAY,
    TRAINING_LAST_DAY,
    LateArrivalModel,
    train,
)
from monitor.demo.dataset import load_flights
from monitor.demo.flights import CATEGORY_FEATURES, FEATURES

Text = Annotated[str, Field(strict=True, min_length=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Flight(BaseModel):
    """What is known of a flight two hours before departure."""

    model_config = ConfigDict(extra="forbid")
    carrier: Text
    origin: Literal["EWR", "JFK", "LGA"]
    dest: Text
    distance: Number = Field(ge=0)
    hour: int = Field(strict=True, ge=0, le=23)
    minute: int = Field(strict=True, ge=0, le=59)
    weekday: Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    manufacturer: Text | None = None
    seats: Number | None = None
    plane_age: Number | None = None
    temp: Number | None = None
    wind_speed: Number | None = None
    precip: Number | None = None
    visib: Number | None = None
    pressure: Number | None = None
    humid: Number | None = None


class Prediction(BaseModel):
    """What the model answers."""

    score: float
    predicted_late: bool


def service(model: LateArrivalModel, precision: str) -> FastAPI:
    """The model behind one address; `precision` is that of the score it answers."""
    app = FastAPI()

    @app.post("/predict")
    def predict(flight: Flight) -> Prediction:
        values = flight.model_dump()
        columns = {
            name: np.array([values[name]], object if name in CATEGORY_FEATURES else np.float64)
            for name in FEATURES
        }
        raw = model.score(model.assemble(columns))
        score = float(raw.astype(precision)[0])
        return Prediction(score=score, predicted_late=score >= THRESHOLD)

    return app


def main() -> None:
    """Train as the demo does (the same model every time) and serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precision", choices=("float64", "float32", "float16"), default="float64")
    parser.add_argument("--port", type=int, default=8900)
    options = parser.parse_args()
    model = train(load_flights().between(TRAINING_FIRST_DAY, TRAINING_LAST_DAY))
    uvicorn.run(service(model, options.precision), host="127.0.0.1", port=options.port)


if __name__ == "__main__":
    main()
