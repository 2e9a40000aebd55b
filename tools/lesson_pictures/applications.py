"""Pictures of steps 11 to 13: compression, embeddings, the whole tokenizer."""

from __future__ import annotations

import math
from importlib.resources import files

import jeton
from jeton.reference.step11_compression import parameters
from jeton.reference.step12_vectors import Embedding
from jeton.vocabulary.first_merges import first_merges

from .canvas import MARGIN, WIDTH, Canvas, Say
from .rows import INNER, bytes_row, heading, label_of, span_row

LESSON = "今天的天气很好，今天的风也很好。The weather is good, the wind is good."
PARAGRAPHS = {
    "eng": ("English", "英语"),
    "deu": ("German", "德语"),
    "cmn": ("Chinese", "中文"),
    "hin": ("Hindi", "印地语"),
}
COLUMNS = 4096


def compression(say: Say) -> Canvas:
    """Draws how the bytes per token grow with the vocabulary, for the same paragraph in four languages.

    The smaller vocabularies have only the first merges of the default tokenizer.
    """
    tok = jeton.default()
    special = len(tok.special_tokens)
    sizes = [256 << i for i in range(9)]
    folder = files("jeton.analysis.parallel") / "paragraph"
    texts = {name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in PARAGRAPHS}
    curves: dict[str, list[float]] = {name: [] for name in texts}
    for size in sizes:
        smaller = first_merges(tok, size + special) if size + special < tok.vocab_size else tok
        for name, text in texts.items():
            curves[name].append(len(text.encode()) / smaller.count(text))
    last = ", ".join(f"{say(*PARAGRAPHS[name])} {curve[-1]:.1f}" for name, curve in curves.items())
    canvas = Canvas(
        say(
            f"Bytes per token grow with the vocabulary, from 1 at 256 tokens to, at {sizes[-1]:,}: {last}.",
            f"词表越大，每词元字节数越高：256 个词元时为 1；{sizes[-1]:,} 个词元时，{last}。",
        )
    )
    chart(canvas, say, sizes, {say(*PARAGRAPHS[name]): curve for name, curve in curves.items()})
    return canvas


def chart(canvas: Canvas, say: Say, sizes: list[int], curves: dict[str, list[float]]) -> None:
    """Draws curves over the vocabulary size, which doubles at each step.

    Under the axis are the vocabulary sizes and the numbers of embedding parameters.
    """
    heading(canvas, 10, say("bytes per token, one paragraph", "每词元字节数（同一段文本）"))
    left, right, top, bottom = MARGIN + 24.0, WIDTH - 84.0, 44.0, 250.0
    highest = math.ceil(max(max(curve) for curve in curves.values()))
    step = (right - left) / (len(sizes) - 1)

    def height(value: float) -> float:
        return bottom - (bottom - top) * (value - 1) / (highest - 1)

    for value in range(1, highest + 1):
        canvas.line((left, height(value)), (right, height(value)), width=0.5)
        canvas.text(left - 8, height(value) + 4, str(value), size=12, style="soft", anchor="end")
    used: list[float] = []
    for i, (name, curve) in enumerate(sorted(curves.items(), key=lambda item: item[1][-1])):
        canvas.line(
            *((left + step * j, height(value)) for j, value in enumerate(curve)), width=2.2, style=f"curve c{i}"
        )
        y = min([height(curve[-1]) + 5, *(other - 17 for other in used)])
        used.append(y)
        canvas.text(right + 6, y, name, size=13)
    for j in range(0, len(sizes), 2):
        x = left + step * j
        rows = f"{parameters(sizes[j], COLUMNS) / 1e6:.0f} M"
        canvas.line((x, bottom), (x, bottom + 5))
        canvas.text(x, bottom + 20, f"{sizes[j]:,}", size=12, anchor="middle")
        canvas.text(x, bottom + 60, rows, size=12, anchor="middle")
    canvas.text(right + 30, bottom + 20, say("tokens", "词元"), size=12, style="soft")
    heading(
        canvas,
        bottom + 26,
        say(f"numbers of the embedding, {COLUMNS:,} for a token", f"嵌入表的参数量，每词元 {COLUMNS:,} 个"),
    )


def vectors(say: Say) -> Canvas:
    """Draws an embedding, the rows that three ids select, and the gradient of each row."""
    ids, rows, columns = [5, 5, 7], 10, 8
    table = Embedding(rows, columns)
    table.backward([ids], [[[1.0] * columns for _ in ids]])
    gradient = [int(row[0]) for row in table.gradient]
    canvas = Canvas(
        say(
            f"An embedding of {rows} rows and {columns} columns. The ids {ids} look up their rows; row 5 gets the "
            f"gradient {gradient[5]}, row 7 {gradient[7]}, all others 0.",
            f"{rows} 行 {columns} 列的嵌入表。ID {ids} 查出第 5、5、7 行；第 5 行的梯度为 {gradient[5]}，"
            f"第 7 行为 {gradient[7]}，其余为 0。",
        )
    )
    cell, height, first, top = 24.0, 24.0, 112.0, 40.0
    canvas.text(MARGIN, 26, say("ids", "ID"), size=13, style="soft")
    canvas.text(first, 26, say("table", "嵌入表"), size=13, style="soft")
    canvas.text(WIDTH - MARGIN, 26, say("gradient", "梯度"), size=13, style="soft", anchor="end")
    for i, id in enumerate(ids):
        y = top + 78 + i * 36
        canvas.token(MARGIN, y, 40, str(id), id=id)
        canvas.line((MARGIN + 42, y + 13), (first - 20, top + id * height + 11))
    for row in range(rows):
        y = top + row * height
        canvas.text(first - 4, y + 16, str(row), size=12, style="soft", anchor="end")
        for column in range(columns):
            value = table.weight[row][column]
            size = (cell - 4) * math.sqrt(min(abs(value), 2.5) / 2.5)
            x, middle = first + column * cell + cell / 2, y + height / 2
            canvas.box(x - size / 2, middle - size / 2, size, size, "plus" if value > 0 else "minus")
        if row in ids:
            canvas.box(first, y + 0.5, columns * cell, height - 1, "line")
        canvas.text(WIDTH - MARGIN - 20, y + 17, str(gradient[row]), size=14, anchor="end", mono=True)
    y = top + rows * height + 4
    heading(canvas, y, say("blue: positive; orange: negative; area: size", "蓝色为正，橙色为负；面积表示大小"))
    return canvas


def whole(say: Say) -> Canvas:
    """Draws a text at every stage of encoding, and its decoded text."""
    tok = jeton.train([LESSON], 280, pattern="cl100k", tie_break="first", progress=False)
    text = "今天 is good"
    content, encoding = text.encode(), tok.tokenize(text)
    ids = [token.id for token in encoding]
    pretokens = [pretoken["byte_span"] for pretoken in tok.explain(text).to_json()["pretokens"]]
    canvas = Canvas(
        say(
            f"{text} becomes {len(pretokens)} pretokens, {len(content)} bytes, and {len(ids)} tokens with the ids "
            f"{ids}, which decode to the same text.",
            f"{text} 的编码过程：{len(pretokens)} 个预切分片段，{len(content)} 个字节，{len(ids)} 个词元，ID 为 {ids}；"
            "解码得到原文。",
        )
    )
    unit = INNER / len(content)
    y = heading(canvas, 10, say("text", "文本"))
    y = span_row(canvas, y, [(text.replace(" ", "·"), 0, len(content), None)], unit)
    y = heading(canvas, y, say("split by the pattern", "按模式预切分"))
    spans = [(content[start:end].decode().replace(" ", "·"), start, end, None) for start, end in pretokens]
    y = span_row(canvas, y, spans, unit)
    y = heading(canvas, y, say("bytes", "字节"))
    y = bytes_row(canvas, y, content, unit)
    y = heading(canvas, y, say("merge, lowest rank first", "合并，rank 小的在先"))
    y = span_row(canvas, y, [(label_of(tok, token.id), *token.byte_span, token.id) for token in encoding], unit)
    y = heading(canvas, y, say("ids", "ID"))
    y = span_row(canvas, y, [(str(token.id), *token.byte_span, token.id) for token in encoding], unit)
    heading(canvas, y, say(f"decoded: {tok.decode(ids)}", f"解码：{tok.decode(ids)}"))
    return canvas
