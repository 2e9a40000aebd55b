"""Parts from which `tools/build_page.py` builds a playground that needs no server.

```text
compiler  the core as WebAssembly
bundle    a tokenizer as one file
data      data that the server's endpoints read from files: characters, classics, the paragraph
engine/   the worker: the server's endpoints in JavaScript, over the core
```
"""
