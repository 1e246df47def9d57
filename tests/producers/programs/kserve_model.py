"""A model of KServe's Python server: sums of rows, by V1 and V2. Arguments: a port.

A negative age fails inside the model, as a fault of its code would.
"""

import sys

from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer


class Summed(Model):
    """Answers with the sums."""

    def __init__(self, name):
        super().__init__(name)
        self.ready = True

    async def predict(self, payload, headers=None, response_headers=None):
        if isinstance(payload, InferRequest):
            sums = payload.inputs[0].as_numpy().sum(axis=1)
            output = InferOutput("score", [len(sums)], "FP64")
            output.set_data_from_numpy(sums, binary_data=False)
            return InferResponse(payload.id, self.name, [output], model_version="v3")
        ages = [row["age"] for row in payload["instances"]]
        if min(ages) < 0:
            raise RuntimeError("an age below zero")
        return {"predictions": [{"score": age} for age in ages]}


if __name__ == "__main__":
    ModelServer(http_port=int(sys.argv[1]), enable_grpc=False).start([Summed("served")])
