"""Version tags and logging for models of known libraries, which are imported only when used."""
