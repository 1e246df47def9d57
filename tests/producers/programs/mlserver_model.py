"""A model of MLServer: sums of rows. Beside it stand settings.json and model-settings.json."""

from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class Summed(MLModel):
    """Answers with the sums."""

    async def load(self) -> bool:
        return True

    async def predict(self, payload):
        rows = NumpyCodec.decode_input(payload.inputs[0])
        sums = NumpyCodec.encode_output("score", rows.sum(axis=1, keepdims=True))
        return InferenceResponse(model_name=self.name, model_version=self.version, outputs=[sums])
