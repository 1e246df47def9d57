"""What model servers say of themselves, read into canonical readings. Pure."""
