"""Bytes to Batch and rejections. Pure: no database, HTTP or clock."""
