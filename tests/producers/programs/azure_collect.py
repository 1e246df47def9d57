"""The Azure data collector's client: one call with two rows. Its address is in AZUREML_MDC_."""

import time

import pandas as pd
from azureml.ai.monitoring import Collector

inputs, outputs = Collector(name="model_inputs"), Collector(name="model_outputs")
context = inputs.collect(pd.DataFrame({"age": [1.5, 2.0], "city": ["a", "b"]}))
outputs.collect(pd.DataFrame({"score": [0.25, 0.75]}), context)
time.sleep(2)  # it sends from a thread that does not outlive the program
