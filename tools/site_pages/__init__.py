"""Pages of the documentation site that are made: the API reference, the commands, the lessons."""
