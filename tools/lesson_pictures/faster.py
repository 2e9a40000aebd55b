"""Pictures of steps 14 to 17: matched alternatives, a tree of recovered merges, entries of a heap, counts of pairs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import jeton
from jeton.reference.step01_levels import BYTES
from jeton.reference.step03_merge import vocabulary
from jeton.reference.step04_train import train_bytes
from jeton.reference.step05_encode import ranks
from jeton.reference.step14_regex import ROWS, which
from jeton.reference.step15_gpt4 import small
from jeton.reference.step16_fast_encoding import GONE, Entry, encode_fast
from jeton.reference.step17_fast_training import Chain

from .algorithm import CORPUS, WORDS
from .canvas import MARGIN, WIDTH, Canvas, Say
from .rows import INNER, forest, heading, label_of, shown


def alternatives(say: Say) -> Canvas:
    """Draws the pretokens of a text under three patterns; below each is the number of the alternative that matched."""
    text = "IT'S 2026，我们 !!"
    found = {name: which(text, name) for name in ROWS}
    counts = ", ".join(f"{name} {len(pretokens)}" for name, pretokens in found.items())
    canvas = Canvas(
        say(
            f"Pretokens of {text}, each with the number of the alternative that matched it: {counts}.",
            f"{text} 的预切分片段，下方是匹配它的选择分支的序号。片段数：{counts}。",
        )
    )
    unit, y = INNER / len(text.encode()), 10.0
    for name, pretokens in found.items():
        y = heading(canvas, y, say(f"{name}: {len(pretokens)} pretokens", f"{name}：{len(pretokens)} 个片段"))
        start = 0
        for number, pretoken in pretokens:
            width = len(pretoken.encode()) * unit
            x = MARGIN + start * unit
            canvas.token(x, y, width, pretoken.replace(" ", "·"), id=start, size=13)
            canvas.text(x + width / 2, y + 40, str(number), size=12, style="soft", anchor="middle")
            start += len(pretoken.encode())
        y += 52
    return canvas


def recovered(say: Say) -> Canvas:
    """Draws the tree of a token's merges, which are recovered from a rank file."""
    word = " weather"
    with TemporaryDirectory() as folder:
        file = Path(folder, "small.tiktoken")
        file.write_bytes(small(30))
        tok = jeton.load(file, pattern="cl100k")
    pretoken = tok.explain(word).to_json()["pretokens"][0]
    last = pretoken["merges"][-1]
    halves = " + ".join(label_of(tok, last[side]) for side in ("left", "right"))
    canvas = Canvas(
        say(
            f"The token {shown(word.encode())} of a rank file: its bytes, merged by lower ranks, leave {halves}.",
            f"rank 文件中的词元 {shown(word.encode())}：用更小的 rank 合并它的字节，剩下 {halves}。",
        )
    )
    y = heading(
        canvas,
        10,
        say(f"by ranks below its own, {last['rank']}: {halves}", f"只用比 {last['rank']} 小的 rank：{halves}"),
    )
    forest(canvas, y + 4, tok, pretoken)
    return canvas


def heap(say: Say) -> Canvas:
    """Draws the entries of the heap while a word is encoded, and the symbols after each merge."""
    merges = train_bytes(WORDS, 270)
    spelling, text = vocabulary(BYTES, merges), "oldest"
    rows: list[tuple[Entry | None, bool, list[int]]] = []

    def trace(popped: Entry | None, merged: bool, symbols: list[int], pushed: list[Entry]) -> None:
        rows.append((popped, merged, list(symbols)))

    encode_fast(list(text.encode()), ranks(merges), trace)
    stale = sum(popped is not None and not merged for popped, merged, _ in rows)
    canvas = Canvas(
        say(
            f"Encoding {text} by a heap: {len(rows) - 1} entries are popped, {stale} of them stale.",
            f"用堆编码 {text}：弹出 {len(rows) - 1} 个条目，其中 {stale} 个已过期。",
        )
    )
    left, unit = 172.0, (WIDTH - 2 * MARGIN - 172) / len(text)
    y = heading(canvas, 10, say("popped: pair, rank, position", "弹出：对，rank，位置"))
    for popped, merged, symbols in rows:
        if popped is None:
            label = say("(start)", "（开始）")
        else:
            rank, at, first, second = popped
            label = f"{shown(spelling[first])}+{shown(spelling[second])}  {rank}  @{at}"
            label += "" if merged else say("  stale", "  过期")
        canvas.text(MARGIN, y + 18, label, size=14, style="ink" if merged or popped is None else "soft", limit=left - 4)
        at = 0
        for symbol in symbols if merged or popped is None else ():
            if symbol != GONE:
                size = len(spelling[symbol])
                colored = symbol if symbol >= 256 else None
                canvas.token(MARGIN + left + at * unit, y, size * unit, shown(spelling[symbol]), id=colored)
                at += size
        y += 34
    return canvas


def counts(say: Say) -> Canvas:
    """Draws the counts of pairs before and after the first merge of training."""
    chain = Chain([list(CORPUS.encode())], [1])
    spelling = BYTES | {256: b"ab"}
    before = dict(chain.counts)
    changes = chain.merge((97, 98), 256)
    pairs = [*before, *(pair for pair in chain.counts if pair not in before)]
    canvas = Canvas(
        say(
            f"Counts of pairs in {CORPUS} before and after the merge of a and b: {len(changes)} change.",
            f"{CORPUS} 中各对的计数，合并 a 和 b 之前与之后：有 {len(changes)} 个改变。",
        )
    )
    columns = (MARGIN, 150.0, 230.0, 320.0)
    titles = (say("pair", "对"), say("before", "合并前"), say("after", "合并后"), say("change", "变化"))
    y = 10.0
    for x, title in zip(columns, titles, strict=True):
        canvas.text(x, y + 14, title, size=13, style="soft")
    y += 24
    for pair in pairs:
        change = changes.get(pair, 0)
        name = " + ".join(shown(spelling[id]) for id in pair)
        values = (name, str(before.get(pair, 0)), str(chain.counts.get(pair, 0)), f"{change:+}" if change else "–")
        style = "soft" if not change else "plus" if change > 0 else "minus"
        for x, value in zip(columns, values, strict=True):
            canvas.text(x, y + 15, value, size=14, mono=True, style=style if x == columns[-1] else "ink")
        y += 24
    return canvas
