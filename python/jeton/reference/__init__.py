"""A tokenizer from nothing, in thirteen short steps: to be read, and to be tested against.

Read the files in the order of their numbers. Each adds one idea to those before it, opens with the idea in prose and
examples, and can be run: `python -m jeton.reference.step04_train` prints the examples of that lesson. A student with
some Python reads it all in about an hour. Each file has a Chinese version of its prose (`step04_train.zh.md` for
`step04_train.py`).

    text and ids       1 levels: bytes, characters, words
    the algorithm      2 pairs · 3 merging · 4 training · 5 encoding · 6 decoding
    around it          7 special tokens · 8 pre-tokenization
    other alphabets    9 characters · 10 words with an end-of-word mark
    applications      11 compression · 12 embeddings
    all of it         13 one class

It is plain Python with the standard library only, and NumPy or PyTorch in step 12. It imports nothing else of Jeton,
and only tests and pages of Jeton use it. It is written to be obviously correct and is therefore slow. Jeton's engine
is written to be fast and must give the same merges and ids for the same options (pattern, tie rule, minimum
frequency). If the two disagree, one of them has a bug.

This file imports nothing, so each step can be read, run and tested alone.
"""
