"""Pictures of step 1 (levels) and steps 6 to 10 (decoding, special tokens, pretokens, characters, words)."""

from __future__ import annotations

import re

import jeton

from .canvas import MARGIN, Canvas, Say
from .rows import INNER, bytes_row, forest, heading, label_of, span_row

Span = tuple[str, int, int, int | None]  # label, start, end, id
UNKNOWN = "<unk>"


def levels(say: Say) -> Canvas:
    """Draws one text as words, characters, bytes and tokens."""
    text, tok = "小 cat 👍", jeton.default()
    content, encoding = text.encode(), tok.tokenize(text)
    words = [(match[0], *byte_span(text, *match.span()), None) for match in re.finditer(r"\S+", text)]
    characters = [(c.replace(" ", "·"), *byte_span(text, i, i + 1), None) for i, c in enumerate(text)]
    tokens = [(label_of(tok, token.id), *token.byte_span, token.id) for token in encoding]
    ids = " ".join(str(token.id) for token in encoding)
    canvas = Canvas(
        say(
            f"{text} is {len(words)} words, {len(characters)} characters, {len(content)} bytes, and {len(tokens)} "
            f"tokens with the ids {ids}.",
            f"{text} 有 {len(words)} 个词、{len(characters)} 个字符、{len(content)} 个字节、"
            f"{len(tokens)} 个词元，ID 为 {ids}。",
        )
    )
    unit = INNER / len(content)
    y = heading(canvas, 10, say(f"{len(words)} words", f"{len(words)} 个词"))
    y = span_row(canvas, y, words, unit)
    y = heading(canvas, y, say(f"{len(characters)} characters", f"{len(characters)} 个字符"))
    y = span_row(canvas, y, characters, unit)
    y = heading(canvas, y, say(f"{len(content)} bytes", f"{len(content)} 个字节"))
    y = bytes_row(canvas, y, content, unit)
    y = heading(canvas, y, say(f"{len(tokens)} tokens of jeton.default()", f"jeton.default() 的 {len(tokens)} 个词元"))
    y = span_row(canvas, y, tokens, unit)
    heading(canvas, y, say(f"ids: {ids}", f"ID：{ids}"))
    return canvas


def decoding(say: Say) -> Canvas:
    """Draws ids, their bytes, the text of each id decoded separately, and the output of a stream."""
    text, tok = "小👍", jeton.default()
    ids = tok.encode(text)
    stream = tok.stream()
    rows = [
        (say("id", "ID"), [str(id) for id in ids]),
        (say("bytes", "字节"), [tok.id_to_bytes(id).hex(" ") for id in ids]),
        (say("alone", "单独解码"), [tok.decode([id]) for id in ids]),
        (say("stream", "流式解码"), [stream.push(id) or "–" for id in ids]),
    ]
    canvas = Canvas(
        say(
            f"The ids {ids} of {text}. Decoded alone, an id that holds a part of a character gives the replacement "
            "character; a stream waits until the character is complete.",
            f"{text} 的 ID 为 {ids}。单独解码时，只含部分字符的 ID 得到替换字符；流式解码则等到字符完整才输出。",
        )
    )
    first, unit = 78.0, (INNER - 78) / len(ids)
    y = 14.0
    for name, values in rows:
        canvas.text(MARGIN, y + 18, name, size=13, style="soft")
        for i, (id, value) in enumerate(zip(ids, values, strict=True)):
            colored = id if name in ("id", "ID") else None
            canvas.token(MARGIN + first + i * unit, y, unit, value, id=colored, size=12 if " " in value else 14)
        y += 36
    whole = tok.decode(ids)
    heading(canvas, y, say(f"all bytes joined, then decoded: {whole}", f"先连接全部字节再解码：{whole}"))
    return canvas


def special_tokens(say: Say) -> Canvas:
    """Draws the tokens of a text that spells a special token: once if special tokens are permitted, once if not."""
    text, tok = "<|im_start|>user", jeton.default()
    permitted, plain = tok.tokenize(text, special="all"), tok.tokenize(text)
    canvas = Canvas(
        say(
            f"{text}: {len(permitted)} tokens where special tokens are permitted, {len(plain)} where they are not.",
            f"{text}：许可特殊词元时为 {len(permitted)} 个词元，不许可时为 {len(plain)} 个。",
        )
    )
    unit, y = INNER / len(text), 10.0
    rows = [
        (say('encode(text, special="all"): by the program', 'encode(text, special="all")：程序生成'), permitted),
        (say("encode(text): from a user", "encode(text)：用户输入"), plain),
    ]
    for title, encoding in rows:
        y = heading(canvas, y, title)
        y = span_row(canvas, y, [(label_of(tok, token.id), *token.byte_span, token.id) for token in encoding], unit)
        ids = " ".join(str(token.id) for token in encoding)
        y = heading(canvas, y - 4, say(f"ids: {ids}", f"ID：{ids}")) + 8
    return canvas


def splitting(say: Say) -> Canvas:
    """Draws the pretokens of one text under the patterns of three tokenizers."""
    text = "don't sum(aB, 2026)"
    found = {name: pretokens(text, name) for name in ("gpt2", "cl100k", "o200k")}
    counts = ", ".join(f"{name} {len(spans)}" for name, spans in found.items())
    canvas = Canvas(
        say(
            f"Pretokens of {text}: {counts}. No merge crosses a boundary.",
            f"{text} 的预切分片段数：{counts}。合并不跨越片段边界。",
        )
    )
    unit, y = INNER / len(text), 10.0
    for name, spans in found.items():
        y = heading(canvas, y, say(f"{name}: {len(spans)} pretokens", f"{name}：{len(spans)} 个片段"))
        y = span_row(canvas, y, spans, unit)
    return canvas


def pretokens(text: str, pattern: str) -> list[Span]:
    """Returns the pretokens of an ASCII text, each with an id that gives its color."""
    tok = jeton.train([text], 256, pattern=pattern, progress=False)
    spans = [pretoken["byte_span"] for pretoken in tok.explain(text).to_json()["pretokens"]]
    return [(text[start:end].replace(" ", "·"), start, end, i) for i, (start, end) in enumerate(spans)]


def characters(say: Say) -> Canvas:
    """Draws the tokens of a text with characters that the corpus lacks, at character level and at byte level."""
    corpus, text = "今天天气好，今天天晴", "今天的冬天"
    by_character = jeton.train(
        [corpus], 10, level="char", pattern="none", tie_break="first", unk_token=UNKNOWN, progress=False
    )
    by_byte = jeton.train([corpus], 266, pattern="none", tie_break="first", progress=False)
    rows = [
        (say("characters", "字符级"), by_character, by_character.tokenize(text)),
        (say("bytes", "字节级"), by_byte, by_byte.tokenize(text)),
    ]
    unknown = sum(token.id == by_character.token_to_id(UNKNOWN) for token in rows[0][2])
    canvas = Canvas(
        say(
            f"{text} under two tokenizers trained on {corpus}. At the level of characters {unknown} characters become "
            "<unk>; at the level of bytes none does.",
            f"两个在“{corpus}”上训练的分词器编码“{text}”：字符级有 {unknown} 个未知字符 <unk>；字节级没有未知字符。",
        )
    )
    unit, y = INNER / len(text.encode()), 10.0
    for name, tok, encoding in rows:
        back = tok.decode([token.id for token in encoding])
        y = heading(canvas, y, say(f"{name}: {len(encoding)} tokens", f"{name}：{len(encoding)} 个词元"))
        for token in encoding:
            x, width = MARGIN + token.byte_span[0] * unit, (token.byte_span[1] - token.byte_span[0]) * unit
            style = "unknown" if token.id == tok.special_tokens.get(UNKNOWN) else ""
            canvas.token(x, y, width, label_of(tok, token.id), id=token.id, style=style, size=13)
        y = heading(canvas, y + 32, say(f"decoded: {back}", f"解码：{back}")) + 8
    return canvas


def words(say: Say) -> Canvas:
    """Draws the merges of a word with an end mark, as a tree."""
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    tok = jeton.train(counts, 21, end_of_word="</w>", end_of_word_style="symbol", tie_break="first", progress=False)
    pretoken = tok.explain("newest").to_json()["pretokens"][0]
    tokens = ", ".join(tok.id_to_token(id) for id in tok.encode("newest"))
    canvas = Canvas(
        say(
            f"The tree of merges of newest with its end mark: {len(pretoken['merges'])} merges make {tokens}.",
            f"newest 加上词尾标记后的合并树：{len(pretoken['merges'])} 次合并得到 {tokens}。",
        )
    )
    listed = ", ".join(f"{word} ×{count}" for word, count in counts.items())
    y = heading(canvas, 10, say(f"words: {listed}", f"训练语料：{listed}"))
    forest(canvas, y + 4, tok, pretoken)
    return canvas


def byte_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Converts a span of characters to a span of UTF-8 bytes."""
    return len(text[:start].encode()), len(text[:end].encode())
