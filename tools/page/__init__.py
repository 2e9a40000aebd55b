"""The playground without a server: what `tools/build_page.py` makes it of.

```text
compiler  the core as WebAssembly
bundle    a tokenizer as one file
data      what the server's endpoints read from files: characters, classics, the paragraph
engine/   the worker: the server's endpoints in JavaScript, over the core
```
"""
