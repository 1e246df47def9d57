"""A PyTorch model that is served with the client's adapter; arguments: address, key, model.

Runs in an environment of its own and prints what the test checks.
"""

from __future__ import annotations

import io
import json
import sys

import torch
from inferwatch_client.adapters.pytorch import module_tags, watch_module
from inferwatch_client.client import Client


def made() -> torch.nn.Module:
    """The same weights each time."""
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Linear(2, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)
    )


def main(url: str, key: str, name: str) -> None:
    """Log two calls and one that fails; print tags of the model and of others like it."""
    module = made().eval()
    kept = io.BytesIO()
    torch.save(module.state_dict(), kept)
    kept.seek(0)
    loaded = made()
    loaded.load_state_dict(torch.load(kept))
    half, changed = made().to(torch.bfloat16), made()
    with torch.no_grad():
        changed[0].weight += 1e-7
    client = Client(url, key, model=name)
    end = watch_module(
        client,
        module,
        lambda inputs, output: {"place": inputs[0][0], "score": torch.sigmoid(output[0, 0])},
        tags={"model_version": "7"},
    )
    with torch.no_grad():
        outputs = [module(torch.tensor([[x, 1.0]])) for x in (0.5, 0.25)]
    failed = False
    try:
        module(torch.zeros(1, 3))
    except RuntimeError:
        failed = True
    end()
    module(torch.zeros(1, 2))  # no longer watched
    client.close()
    told = client.statistics()
    said = {
        "tags": module_tags(module),
        "loaded": module_tags(loaded)["model_digest"],
        "changed": module_tags(changed)["model_digest"],
        "half": module_tags(half)["precision"],
        "scores": [torch.sigmoid(each[0, 0]).item() for each in outputs],
        "failed": failed,
        "accepted": told.accepted,
        "dropped": told.dropped,
        "version": torch.__version__,
    }
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
