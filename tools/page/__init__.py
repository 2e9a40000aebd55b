"""Parts of the playground without a server, from which `tools/build_page.py` builds it.

```text
compiler  the core as WebAssembly
bundle    a tokenizer as one file
data      data that the server's endpoints read from files: characters, classics, the paragraph
engine/   the worker: the server's endpoints in JavaScript, over the core
```
"""
