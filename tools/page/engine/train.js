// A training run on a short text, with every step: `playground/api/train.py` and `training/replay.py` in JavaScript.

import { encode, fromHex } from "./bytes.js";
import { JetonError } from "./core.js";
import { lookOf } from "./drawing.js";
import { integer, oneOf, text } from "./request_fields.js";

const MOST_BYTES = 10_000;
const MOST_MERGES = 500;
const TOP = 10; // listed pairs of a step
const TIE_RULES = ["lowest_ids", "first", "highest_pair", "shortest"];
const WALL = -1; // separator after each sequence

export function train(core, request) {
  const given = text(request, "text");
  const numBytes = encode(given).length;
  if (numBytes > MOST_BYTES) throw new JetonError(`the text has ${number(numBytes)} bytes; the limit of this view is ${number(MOST_BYTES)}`, "ConfigError");
  const level = oneOf(request, "level", ["byte", "char"], "byte");
  const size = integer(request, "vocab_size", 276, 1, MOST_BYTES + MOST_MERGES);
  const pattern = text(request, "pattern", level === "char" ? "none" : "o200k");
  const tieRule = oneOf(request, "tie_break", TIE_RULES, "lowest_ids");
  const { json: run } = core({ do: "train", vocab_size: size, level, pattern, tie_break: tieRule }, given);
  const { merges } = run;
  if (merges.length > MOST_MERGES) {
    throw new JetonError(
      `the run has ${number(merges.length)} merges; the limit of this view is ${number(MOST_MERGES)}, a vocabulary size of ${number(run.vocab_size - merges.length + MOST_MERGES)}`,
      "ConfigError",
    );
  }
  if (!run.sequences.length) throw new JetonError("the corpus holds no text to learn from", "TrainingError");
  const bytes = new Map(run.tokens.map(([id, hex]) => [id, fromHex(hex)]));
  const replay = new Replay(run.sequences, bytes, tieRule);
  const steps = merges.map(([left, right, made], rank) => ({ rank, ...replay.merge(rank, left, right, made, numBytes) }));
  const sequences = replay.sequences();
  const ids = new Set([...sequences.flatMap((sequence) => sequence.ids), ...steps.flatMap((step) => [step.id, ...step.pairs.flatMap((pair) => pair.slice(0, 2))])]);
  return {
    tie_break: tieRule,
    stopped: merges.length < run.num_requested ? `no pair is left after ${merges.length} of ${run.num_requested} merges` : null,
    corpus_bytes: numBytes,
    corpus_tokens: sequences.reduce((sum, sequence) => sum + sequence.ids.length, 0),
    sequences,
    steps,
    table: Object.fromEntries([...ids].map((id) => [id, lookOf(id, bytes.get(id))])),
    alphabet_size: run.vocab_size - merges.length,
    vocab_size: run.vocab_size,
    patterns: core({ do: "patterns" }).json.patterns,
  };
}

const number = (value) => value.toLocaleString("en-US");

class Replay {
  #starts = [];
  #first = [];
  #joined;
  #ids;
  #ends; // for each current symbol, the index of its last one in `first`
  #sizes = new Map(); // id → number of symbols of the alphabet
  #bytes;
  #order;

  constructor(sequences, bytes, tieRule) {
    for (const ids of sequences) {
      this.#starts.push(this.#first.length);
      this.#first.push(...ids, WALL);
    }
    this.#joined = this.#first.map(() => null);
    this.#ids = [...this.#first];
    this.#ends = this.#first.map((_, index) => index);
    this.#bytes = bytes;
    this.#order = { first: () => 0, lowest_ids: (one, other) => one[0] - other[0] || one[1] - other[1], highest_pair: this.#highest, shortest: this.#shortest }[tieRule];
  }

  sequences() {
    return this.#starts.map((start, index) => {
      const end = (this.#starts[index + 1] ?? this.#first.length) - 1;
      return { ids: this.#first.slice(start, end), joined: this.#joined.slice(start, end - 1), count: 1 };
    });
  }

  /** Counts all pairs, then merges every occurrence of one pair, from left to right. */
  merge(rank, left, right, made, numBytes) {
    const counts = new Map(); // "left right" → [left, right, count], by first appearance
    for (let at = 1; at < this.#ids.length; at += 1) {
      const [one, other] = [this.#ids[at - 1], this.#ids[at]];
      if (one === WALL || other === WALL) continue;
      const pair = counts.get(`${one} ${other}`);
      if (pair) pair[2] += 1;
      else counts.set(`${one} ${other}`, [one, other, 1]);
    }
    const pairs = [...counts.values()].sort((one, other) => other[2] - one[2] || this.#order(one, other)).slice(0, TOP);
    const pairCount = counts.get(`${left} ${right}`)?.[2] ?? 0;
    this.#join(rank, left, right, made);
    this.#sizes.set(made, this.#size(left) + this.#size(right));
    const tokens = this.#ids.length - this.#starts.length;
    const token = Array.from(this.#bytes.get(made), (byte) => byte.toString(16).padStart(2, "0")).join("");
    return { left, right, id: made, token, pair_count: pairCount, pairs, num_pairs: counts.size, corpus_tokens: tokens, bytes_per_token: tokens ? numBytes / tokens : 0 };
  }

  #join(rank, left, right, made) {
    const [ids, ends] = [[], []];
    for (let at = 0; at < this.#ids.length; at += 1) {
      if (this.#ids[at] === left && this.#ids[at + 1] === right) {
        this.#joined[this.#ends[at]] = rank;
        ids.push(made);
        at += 1;
      } else {
        ids.push(this.#ids[at]);
      }
      ends.push(this.#ends[at]);
    }
    [this.#ids, this.#ends] = [ids, ends];
  }

  #size = (id) => this.#sizes.get(id) ?? 1;

  #highest = (one, other) =>
    byBytes(this.#bytes.get(other[0]), this.#bytes.get(one[0])) || byBytes(this.#bytes.get(other[1]), this.#bytes.get(one[1])) || other[0] - one[0] || other[1] - one[1];

  #shortest = (one, other) => {
    const joined = ([left, right]) => [...this.#bytes.get(left), ...this.#bytes.get(right)];
    const size = ([left, right]) => this.#size(left) + this.#size(right);
    return size(one) - size(other) || byBytes(joined(one), joined(other)) || one[0] - other[0] || one[1] - other[1];
  };
}

/** Order of byte strings. */
function byBytes(one, other) {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) if (one[at] !== other[at]) return one[at] - other[at];
  return one.length - other.length;
}
