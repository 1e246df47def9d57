"""Embeds sentences through the collector's own loader, the extra's packages behind our own."""

from __future__ import annotations

import json
import sys

sys.path.append(sys.argv[1])

from monitor.collector.text_models import TextModels

texts = json.load(sys.stdin)
json.dump(TextModels().load("minilm")(texts).tolist(), sys.stdout)
