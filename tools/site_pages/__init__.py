"""Generated pages of the documentation site: the API reference, the commands, the lessons."""
