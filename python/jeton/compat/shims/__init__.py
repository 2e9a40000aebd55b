"""Packages with the names of other libraries. A process with this folder first on its path uses the drop-ins."""
