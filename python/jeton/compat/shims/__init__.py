"""Folders with packages that have the names of other libraries, one folder for each library.

A process that has such a folder on its path, before the library itself, uses the drop-in.
"""
