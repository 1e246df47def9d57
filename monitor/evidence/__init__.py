"""What makes an export trustworthy: canonical JSON, signatures, the hash chain, bundles. Pure."""
