"""A real Triton server that writes trace files. Arguments: HTTP and metrics port, trace file."""

import sys
import time

import numpy as np
import pytriton.triton
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

# The wrapper wants OpenTelemetry as soon as anything is traced; the server's own file needs none.
pytriton.triton.build_proxy_tracer_from_triton_config = lambda _: None


@batch
def summed(x):
    time.sleep(0.02)
    return [x.sum(axis=1, keepdims=True)]


def main() -> None:
    http, metrics, written = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    config = TritonConfig(
        http_port=http,
        allow_grpc=False,
        metrics_port=metrics,
        http_address="127.0.0.1",
        cache_config=["local,size=1048576"],
        trace_config=[
            "mode=triton",
            f"triton,file={written}",
            "triton,log-frequency=1",
            "rate=1",
            "level=TIMESTAMPS",
            "level=TENSORS",
        ],
    )
    with Triton(config=config) as server:
        server.bind(
            model_name="sum",
            model_version=3,
            infer_func=summed,
            trace_config=[],
            inputs=[Tensor(name="x", dtype=np.float32, shape=(2,))],
            outputs=[Tensor(name="y", dtype=np.float32, shape=(1,))],
            config=ModelConfig(max_batch_size=8, response_cache=True),
        )
        server.run()
        sys.stdin.read()  # until the test closes it


main()
