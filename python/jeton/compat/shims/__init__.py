"""One folder for each replaced library. Its packages have the library's names and import Jeton's drop-in.

If such a folder precedes the original library on the path of a process, the process imports the drop-in.
"""
