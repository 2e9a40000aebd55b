"""Pictures of steps 2 to 5: counting pairs, merging, training, encoding."""

from __future__ import annotations

import jeton
from jeton.reference.step02_pairs import count_pairs

from .canvas import MARGIN, Canvas, Say
from .rows import INNER, forest, heading, label_of, rounds, symbol_row

CORPUS = "abcababcaabc"
WORDS = "old older fast faster fastest best better yes desk mess"


def trained(corpus: str, vocab_size: int) -> jeton.Tokenizer:
    """Trains a tokenizer as in the lessons: bytes, no pattern, ties by first occurrence."""
    return jeton.train([corpus], vocab_size, pattern="none", tie_break="first", progress=False)


def pairs(say: Say) -> Canvas:
    """Draws the counts of all pairs of a text, and the occurrences of the first pair that training merges."""
    tok = trained(CORPUS, 257)
    ((left, right, _),) = tok.merges
    counts = {bytes(pair).decode(): count for pair, count in count_pairs([list(CORPUS.encode())]).items()}
    best = bytes([left, right]).decode()
    listed = ", ".join(f"{pair} {count}" for pair, count in counts.items())
    canvas = Canvas(
        say(
            f"Pairs of neighbors in {CORPUS}: {listed}. The most frequent, {best}, is merged first.",
            f"{CORPUS} 中各相邻对的频次：{listed}。频次最高的 {best} 最先合并。",
        )
    )
    y = heading(canvas, 10, say(f"the {counts[best]} occurrences of {best}", f"{best} 出现了 {counts[best]} 次"))
    unit = INNER / len(CORPUS)
    for i, letter in enumerate(CORPUS):
        inside = best in (CORPUS[i : i + 2], CORPUS[max(i - 1, 0) : i + 1])
        canvas.token(MARGIN + i * unit, y, unit, letter, id=256 if inside else None)
        if CORPUS[i : i + 2] == best:
            x = MARGIN + i * unit
            canvas.line((x + 4, y + 30), (x + 4, y + 36), (x + 2 * unit - 4, y + 36), (x + 2 * unit - 4, y + 30))
    y = heading(canvas, y + 46, say("counts of all pairs", "所有相邻对的频次"))
    widest = INNER - 80
    for pair, count in sorted(counts.items(), key=lambda item: -item[1]):
        length = widest * count / max(counts.values())
        canvas.text(MARGIN, y + 16, pair, size=15, mono=True)
        canvas.box(MARGIN + 40, y + 2, length, 18, "bar" if pair == best else "other")
        canvas.text(MARGIN + 48 + length, y + 16, str(count), size=14)
        y += 28
    return canvas


def merging(say: Say) -> Canvas:
    """Draws two merges: one is applied from left to right without overlap, one uses the result of an earlier merge."""
    canvas = Canvas(
        say(
            "Merging from left to right: aaa becomes aa and a, aaaa becomes aa and aa; abcabc becomes ab, c, ab, c, "
            "and then abc, abc.",
            "从左到右合并：aaa 变成 aa 和 a，aaaa 变成 aa 和 aa；abcabc 先变成 ab、c、ab、c，再变成 abc、abc。",
        )
    )
    y, unit = 10.0, 44.0
    for text, corpus, merges in (("aaa", "aaaa", 1), ("aaaa", "aaaa", 1), ("abcabc", "abcabc", 2)):
        tok = trained(corpus, 256 + merges)
        first, made = rounds(tok, text)
        y = heading(canvas, y, say(f"{text}: {len(first)} ids", f"{text}：{len(first)} 个 ID"))
        y = symbol_row(canvas, y, tok, first, unit, new=-1)
        for step in made:
            left, right, new = tok.merges[step.rank]
            text_of = f"{label_of(tok, left)} + {label_of(tok, right)} → {new}"
            ids = " ".join(str(symbol.id) for symbol in step.symbols)
            y = heading(canvas, y - 4, say(f"{text_of}: ids {ids}", f"{text_of}：ID {ids}"))
            y = symbol_row(canvas, y, tok, step.symbols, unit, new=new)
        y += 8
    return canvas


def training(say: Say) -> Canvas:
    """Draws the corpus after every merge of training."""
    tok = trained(CORPUS, 260)
    first, made = rounds(tok, CORPUS)
    tokens = ", ".join(label_of(tok, step.new) for step in made)
    canvas = Canvas(
        say(
            f"Training on {CORPUS}: four merges add the tokens {tokens}; {len(first)} symbols become "
            f"{len(made[-1].symbols)}.",
            f"在 {CORPUS} 上训练：四次合并加入词元 {tokens}；{len(first)} 个符号变成 {len(made[-1].symbols)} 个。",
        )
    )
    unit = INNER / len(first)
    y = heading(canvas, 10, say(f"the corpus: {len(first)} symbols", f"语料：{len(first)} 个符号"))
    y = symbol_row(canvas, y, tok, first, unit, new=-1)
    for step in made:
        left, right, new = tok.merges[step.rank]
        pair = f"{label_of(tok, left)} + {label_of(tok, right)} → {new}"
        size = len(step.symbols)
        y = heading(canvas, y, say(f"{pair}: {size} symbols", f"{pair}：{size} 个符号"))
        y = symbol_row(canvas, y, tok, step.symbols, unit, new=new)
    return canvas


def encoding(say: Say) -> Canvas:
    """Draws the merges of a word that is not in the corpus. Each token is drawn as a tree of its merges."""
    tok = trained(WORDS, 270)
    pretoken = tok.explain("oldest").to_json()["pretokens"][0]
    tokens = [label_of(tok, id) for id in tok.encode("oldest")]
    ranks = [merge["rank"] for merge in pretoken["merges"]]
    canvas = Canvas(
        say(
            f"Merges of oldest: {len(ranks)} merges of ranks {ranks}, lowest first, make {' and '.join(tokens)}.",
            f"oldest 的合并：先合并 rank（合并次序）最小的一对，{len(ranks)} 次合并的 rank 依次为 {ranks}，"
            f"得到词元 {'、'.join(tokens)}。",
        )
    )
    y = heading(
        canvas, 10, say("numbered in their order; lowest rank first", "方框中的序号表示先后；先合并 rank 小的一对")
    )
    forest(canvas, y + 4, tok, pretoken)
    return canvas
