"""What the machine tells of a deployment: accelerators, processor, container, packages, code."""
