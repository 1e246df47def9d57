"""The daily job on labels: how soon they come, whether they still come, what became mature."""
