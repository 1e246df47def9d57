"""Logs requests, labels and versions of a served model to an Inferwatch collector.

Begin with `from inferwatch_client.client import Client`. Nothing here ever raises into the model or
waits for the network in the caller's thread.
"""
