"""A real Triton server with a response cache: one model `sum`. Arguments: HTTP and metrics port."""

import sys
import time

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig


@batch
def summed(x):
    time.sleep(0.02)
    return [x.sum(axis=1, keepdims=True)]


def main() -> None:
    http, metrics = int(sys.argv[1]), int(sys.argv[2])
    config = TritonConfig(
        http_port=http,
        allow_grpc=False,
        metrics_port=metrics,
        http_address="127.0.0.1",
        cache_config=["local,size=1048576"],
    )
    with Triton(config=config) as server:
        server.bind(
            model_name="sum",
            model_version=3,
            infer_func=summed,
            inputs=[Tensor(name="x", dtype=np.float32, shape=(2,))],
            outputs=[Tensor(name="y", dtype=np.float32, shape=(1,))],
            config=ModelConfig(max_batch_size=8, response_cache=True),
        )
        server.run()
        sys.stdin.read()  # until the test closes it


main()
