"""Utilities that know nothing of tokenizers: argument checks, files, progress, and classes without slow imports.

```text
arguments                    checks with errors that name the argument
atomic, compression          files that are whole or absent; streams of compressed files
machine, threads             available memory; number of threads
forks, locks                 imports and locks that a forked process does not wait for
messages, language           text for people, in the language of the command line, from catalogs/
progress                     events of long operations, and their reporters
lazy, record, readonly       attributes on first use; frozen dataclasses; read-only dicts and lists
numpy_arrays                 NumPy, imported for the first array
optional                     packages of extras, imported on use
hints                        names of other libraries, in errors about unknown ones
```

`jeton.load(…).encode(…)` imports little, because importing `typing` or `dataclasses` takes as long as reading a small
vocabulary (docs/decisions/0017-standard-library.md). The modules that it needs import names for annotations under
``TYPE_CHECKING = False``, and other modules in the functions that use them.
"""
