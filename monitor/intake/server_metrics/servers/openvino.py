"""OpenVINO Model Server (`--metrics_enable`): histograms of microseconds.

`ovms_infer_req_queue_size` is how many inference requests it keeps ready, not how many wait.
"""

from __future__ import annotations

from monitor.intake.server_metrics.base import MICROSECONDS, Server, one

OPENVINO = Server(
    name="openvino model server",
    mark=("ovms_",),
    model_labels=("name",),
    version_labels=("version",),
    taken={
        "ovms_current_requests": one("running"),
        "ovms_request_time_us": one("request_time", MICROSECONDS),
        "ovms_inference_time_us": one("compute_time", MICROSECONDS),
        "ovms_wait_for_infer_req_time_us": one("queue_time", MICROSECONDS),
        "ovms_requests_success": one("requests"),
        "ovms_requests_fail": one("server_failures"),
        "ovms_requests_rejected": one("rejected"),
    },
    cannot=(
        "queue length: its queue size is a capacity",
        "versions of language models: their series have no version",
    ),
)
