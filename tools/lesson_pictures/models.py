"""Pictures of steps 18 to 21: SentencePiece's agenda, ids in two orders, Unigram's best splits, two WordPiece rules."""

from __future__ import annotations

from jeton.reference.step18_sentencepiece import TRAINING, explain
from jeton.reference.step19_xlmr import SMALL, first_ids
from jeton.reference.step20_unigram import COUNTS, log_probabilities, nbest
from jeton.reference.step21_wordpiece import CORPUS, RULES, VOCAB, best_pair, encode_word, split_word

from .canvas import MARGIN, WIDTH, Canvas, Say
from .rows import INNER, heading


def agenda(say: Say) -> Canvas:
    """Draws the entries of the agenda in the order in which they are popped, and the symbols after each merge."""
    text = "▁the▁training"
    start, *entries, last, unused = explain(text, TRAINING).splitlines()
    stale = sum(entry.endswith("stale") for entry in entries)
    canvas = Canvas(
        say(
            f"The agenda for {text}: {len(entries)} entries are popped, {stale} of them stale. {unused}.",
            f"{text} 的优先队列：取出 {len(entries)} 项，其中 {stale} 项过期。"
            "▁training 不使用，重新切分为 ▁train + ing。",
        )
    )
    left = 190.0
    unit = (WIDTH - 2 * MARGIN - left) / len(text)
    y = heading(canvas, 10, say("popped: piece, score, position", "取出：子词，得分，位置"))
    piece, _, parts = unused.partition(" is unused: ")
    result = entries[-1].rpartition("  ")[2].replace(piece, parts.replace(" + ", " "))
    for line in [f"  {start}", *entries, f"  {result}"]:
        label, _, symbols = line.rpartition("  ")
        is_stale = symbols == "stale"
        if label.strip():
            name, _, place = label.partition(" score ")
            score, at = place.split(" at ")
            label = f"{name.strip()}  {score.strip()}  @{at.strip()}" + (say("  stale", "  过期") if is_stale else "")
        elif symbols == start:
            label = say("(start)", "（开始）")
        else:
            label = say("(re-segmented)", "（重新切分）")
        canvas.text(MARGIN, y + 18, label, size=13, style="soft" if is_stale else "ink", limit=left - 4)
        x = MARGIN + left
        for symbol in () if is_stale else symbols.split(" "):
            width = len(symbol) * unit
            canvas.token(x, y, width, symbol, id=None if len(symbol) == 1 else sum(map(ord, symbol)), size=13)
            x += width
        y += 28 if is_stale else 34
    canvas.text(MARGIN, y + 14, say(last, "入队 {}，过期 {}，合并 {}".format(*numbers(last))), size=13, style="soft")
    return canvas


def numbers(text: str) -> list[str]:
    """Returns the numbers in a text."""
    return [word for word in text.replace(",", "").split() if word.isdigit()]


def orders(say: Say) -> Canvas:
    """Draws a model's first ids in SentencePiece and in fairseq; fairseq's ids of normal pieces are higher by one."""
    rows = [line.split() for line in first_ids(SMALL, 10).splitlines()[1:]]
    specials = {token for _, *tokens in rows for token in tokens if token.startswith("<")}
    canvas = Canvas(
        say(
            f"The first {len(rows)} ids of SentencePiece and of fairseq, whose ordinary pieces have ids higher by one.",
            f"SentencePiece 与 fairseq 的前 {len(rows)} 个 ID：同一个普通词元，fairseq 的 ID 大 1。",
        )
    )
    columns, width = (80.0, 270.0), 120.0
    y = 10.0
    for x, title in zip((MARGIN, *columns), ("ID", "SentencePiece", "fairseq"), strict=True):
        canvas.text(x, y + 14, title, size=13, style="soft")
    y += 24
    places: dict[str, list[tuple[float, float]]] = {}
    for id, *tokens in rows:
        canvas.text(MARGIN, y + 19, id, size=14, mono=True)
        for x, token in zip(columns, tokens, strict=True):
            canvas.token(x, y, width, token, id=None if token in specials else sum(map(ord, token)), size=13)
            places.setdefault(token, []).append((x, y + 14))
        y += 32
    for token, found in places.items():
        if token not in specials and len(found) == 2:
            (_, above), (right, below) = found
            canvas.line((columns[0] + width + 4, above), (right - 4, below), style="line")
    return canvas


def best(say: Say) -> Canvas:
    """Draws the three best segmentations of a word, with their scores."""
    word = "unhug"
    found = nbest(word, log_probabilities(COUNTS), 3)
    scores = " > ".join(f"{score:.2f}" for score, _ in found)
    canvas = Canvas(
        say(
            f"The three best segmentations of {word} by Unigram, with the sums of their scores: {scores}.",
            f"Unigram 对 {word} 的三种最优切分及得分之和：{scores}。",
        )
    )
    unit, y = INNER / len(word), 10.0
    for score, pieces in found:
        parts = " ".join(f"{log_probabilities(COUNTS)[piece]:.2f}".replace("-", "−") for piece in pieces)
        y = heading(canvas, y, f"{score:.2f}".replace("-", "−") + f" = {parts}")
        x = float(MARGIN)
        for piece in pieces:
            canvas.token(x, y, len(piece) * unit, piece, id=sum(map(ord, piece)))
            x += len(piece) * unit
        y += 44
    return canvas


def two_rules(say: Say) -> Canvas:
    """Draws the first merged pair for each rule (likelihood, frequency), and three words split by the longest match."""
    words = {word: split_word(word) for word in CORPUS}
    names = {"likelihood": say("likelihood", "似然"), "frequency": say("frequency", "频次")}
    pairs = {rule: best_pair(CORPUS, words, rule) for rule in RULES}
    merged = {rule: "+".join(pair) for rule, (pair, _) in pairs.items()}
    canvas = Canvas(
        say(
            f"The first merge by likelihood is {merged['likelihood']}, by frequency {merged['frequency']}; "
            f"words by the longest match.",
            f"第一次合并：按似然是 {merged['likelihood']}，按频次是 {merged['frequency']}；单词按最长匹配切分。",
        )
    )
    y = heading(canvas, 10, say("first merge by each rule", "按两种规则的第一次合并"))
    for rule, (pair, value) in pairs.items():
        canvas.text(MARGIN, y + 19, names[rule], size=14)
        x = 130.0
        for part in pair:
            canvas.token(x, y, 70, part, id=sum(map(ord, part)))
            x += 74
        canvas.text(x + 16, y + 19, f"{value:g}", size=14, mono=True)
        y += 36
    y = heading(canvas, y + 8, say("encoding: the longest match first", "编码：最长匹配优先"))
    for word in ("hugs", "bugs", "mug"):
        canvas.text(MARGIN, y + 19, word, size=14, mono=True)
        x = 130.0
        for token in encode_word(word, VOCAB):
            width = 34.0 * max(2, len(token.removeprefix("##")))
            canvas.token(x, y, width, token, id=None if token == "[UNK]" else sum(map(ord, token)))  # noqa: S105
            x += width
        y += 36
    return canvas
