"""Utilities that do not depend on tokenizers: argument checks, files, progress, and classes without slow imports.

```text
arguments                    argument checks, whose errors name the argument
atomic, compression          atomic writing of files; streaming decompression
machine, threads             available memory; number of threads
forks, locks                 imports and locks for which a forked process never waits
messages, language           translation of messages into the language of the command line, from catalogs/
progress                     events of long operations, and their reporters
lazy, record, readonly       attributes on first use; frozen dataclasses; read-only dicts and lists
numpy_arrays                 NumPy, imported for the first array
optional                     packages of extras, imported on use
hints                        for errors: Jeton's counterparts of names in other libraries
```

`jeton.load(…).encode(…)` imports little, because importing `typing` or `dataclasses` takes as long as reading a small
vocabulary (docs/decisions/0017-standard-library.md). The modules needed for this call import names for annotations
under ``TYPE_CHECKING = False``. They import other modules only in the functions that use them.
"""
