"""Ids, decoded text and offsets, compared with the library that each vocabulary belongs to.

`texts` what is compared, `peers` the other libraries, `catalog` which files, `compare` the comparison, `page` what
people read. `tools/parity_table.py` runs them all; `tests/parity/test_parity_table.py` runs a little of each.
"""
