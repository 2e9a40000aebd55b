"""Pictures of steps 22 to 24: extended vocabularies, tokens of questions, kinds of bytes."""

from __future__ import annotations

from collections import Counter

import jeton
from jeton.reference.step22_extending import CHINESE, ENGLISH, START
from jeton.reference.step23_questions import CORPUS, small
from jeton.reference.step24_errata import kind

from .canvas import MARGIN, Canvas, Say
from .rows import INNER, heading, label_of, span_row

KINDS = {  # kind of a byte -> (style of boxes, English label, Chinese label)
    "ASCII": ("bar", "a character of ASCII", "ASCII 字符"),
    "begins 2 bytes": ("minus", "begins a character", "字符的首字节"),
    "begins 3 bytes": ("minus", "", ""),
    "begins 4 bytes": ("minus", "", ""),
    "continues": ("other", "continues a character", "字符的后续字节"),
    "never": ("unknown", "never in UTF-8", "UTF-8 中从不出现"),
}


def extended(say: Say) -> Canvas:
    """Draws the sizes of two vocabularies and of the vocabulary that results from merging them.

    Below, draws the tokens of one text twice: in a vocabulary with an added token, and in a vocabulary with an added
    word.
    """

    def trained(text: str, size: int) -> jeton.Tokenizer:
        return jeton.train([text], size, level="byte", pattern="cl100k", tie_break="first", progress=False)

    english, chinese, start = trained(ENGLISH, 282), trained(CHINESE, 282), trained(START, 260)
    size = jeton.merge_vocab(english, chinese).tokenizer.vocab_size
    text = "start art"
    found = {
        say("art as an added token", "添加词元 art"): start.add_tokens(["art"], special=False),
        say("art as an added word", "添加词 art"): jeton.add_words(start, ["art"]).tokenizer,
    }
    counts = [len(tok.encode(text)) for tok in found.values()]
    canvas = Canvas(
        say(
            f"Two vocabularies of 282 tokens become one of {size}. The text {text} has {counts[0]} tokens with the "
            f"added token art, and {counts[1]} with the added word art.",
            f"两个 282 个词元的词表合并为 {size} 个词元。文本 {text}：添加词元 art 时有 {counts[0]} 个词元，"
            f"添加词 art 时有 {counts[1]} 个。",
        )
    )
    y = heading(canvas, 10, say(f"282 and 282 tokens become {size}", f"282 个与 282 个词元合并为 {size} 个"))
    labels = (say("256 bytes", "256 个字节"), "26", "26")
    x, widths = float(MARGIN), (INNER - 2 * 56, 56.0, 56.0)
    names = ("", say("English", "英文"), say("Chinese", "中文"))
    for i, (label, width) in enumerate(zip(labels, widths, strict=True)):
        canvas.token(x, y, width, label, id=None if i == 0 else 256 + 26 * i, size=13)
        canvas.text(x + width / 2, y + 42, names[i], size=12, style="soft", anchor="middle")
        x += width
    y += 56
    unit = INNER / len(text)
    for name, tok in found.items():
        y = heading(canvas, y, f"{name}: {tok.encode(text)}" if name.isascii() else f"{name}：{tok.encode(text)}")
        tokens = tok.tokenize(text)
        y = span_row(canvas, y, [(label_of(tok, each.id), *each.byte_span, each.id) for each in tokens], unit)
    return canvas


def asked(say: Say) -> Canvas:
    """Draws the tokens of some texts from the questions of step 23, in the small vocabulary of step 23."""
    tok = jeton.train(
        [CORPUS], small().special["<|endoftext|>"], level="byte", pattern="gpt2", tie_break="first", progress=False
    )
    texts = {
        "127 + 677 = 804": say("1. arithmetic", "1. 算术"),
        "egg Egg EGG": say("4. capitals", "4. 大小写"),
        "a time there": say("7. a continuation", "7. 接着写"),
        "a time ": say("7. a space at the end", "7. 末尾的空格"),
        " SolidGoldMagikarp": say("8. a frequent name of the log", "8. 日志中常见的名字"),
    }
    canvas = Canvas(
        say(
            f"Tokens of {len(texts)} texts in the small vocabulary: numbers, capitals, a trailing space, a name.",
            f"小词表对 {len(texts)} 段文本的切分：数字、大小写、末尾的空格、名字。",
        )
    )
    y, unit = 10.0, INNER / max(map(len, texts))
    for text, name in texts.items():
        y = heading(canvas, y, name)
        tokens = tok.tokenize(text)
        y = span_row(canvas, y, [(label_of(tok, each.id), *each.byte_span, each.id) for each in tokens], unit)
    return canvas


def kinds(say: Say) -> Canvas:
    """Draws a table of the 256 bytes, with 16 bytes in each row, that shows the role of each byte in UTF-8."""
    found = [kind(byte) for byte in range(256)]
    counts = Counter(KINDS[name][0] for name in found)
    canvas = Canvas(
        say(
            f"The 256 bytes in UTF-8: {counts['bar']} are ASCII, {counts['minus']} begin a character, "
            f"{counts['other']} continue one, {counts['unknown']} never occur.",
            f"256 个字节在 UTF-8 中的作用：{counts['bar']} 个是 ASCII，{counts['minus']} 个是首字节，"
            f"{counts['other']} 个是后续字节，{counts['unknown']} 个从不出现。",
        )
    )
    left, top, cell, row = MARGIN + 30.0, 34.0, (INNER - 30) / 16, 15.0
    for i in range(16):
        canvas.text(left + (i + 0.5) * cell, 26, f"{i:x}", size=12, style="soft", anchor="middle", mono=True)
        canvas.text(MARGIN, top + i * row + 11, f"{i:x}0", size=12, style="soft", mono=True)
    for byte, name in enumerate(found):
        canvas.box(left + byte % 16 * cell + 1, top + byte // 16 * row + 1, cell - 2, row - 2, KINDS[name][0])
    y = top + 16 * row + 10
    for style, english, chinese in KINDS.values():
        if english:
            canvas.box(MARGIN, y, 14, 12, style)
            canvas.text(MARGIN + 22, y + 11, f"{counts[style]}  {say(english, chinese)}", size=13)
            y += 20
    return canvas
