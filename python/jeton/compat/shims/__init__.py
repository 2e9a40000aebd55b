"""Folders with packages of other libraries' names, one folder a library.

A process with such a folder on its path, before the library itself, uses the drop-in.
"""
