"""CloudEvents of model servers: requests and responses that come apart and belong together."""
