"""Comparison of ids, decoded text and offsets with the original library of each vocabulary.

`catalog` lists vocabularies, `texts` yields test inputs, `peers` adapts the libraries, `compare` and `job` compare, and
`page` renders docs/parity.md. `tools/parity_table.py` runs all comparisons; `tests/parity/test_parity_table.py` runs a
small part of them.
"""
