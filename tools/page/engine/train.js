// A training run on a short text, with every step: `playground/api/train.py` and `training/replay.py` in JavaScript.

import { encode, fromHex } from "./bytes.js";
import { JetonError, needsServer } from "./core.js";
import { lookOf } from "./drawing.js";
import { integer, oneOf, text } from "./request_fields.js";

const MOST_BYTES = 10_000;
const MOST_MERGES = 500;
const TOP = 10; // listed pairs of a step
const TIE_RULES = ["lowest_ids", "first", "highest_pair", "shortest"];
const WALL = -1; // separator after each sequence

const ALGORITHMS = ["bpe", "words", "wordpiece", "sentencepiece", "unigram"];

export function train(catalog, request) {
  const { core, data } = catalog;
  const given = text(request, "text");
  const numBytes = encode(given).length;
  if (numBytes > MOST_BYTES) throw new JetonError(`the text has ${number(numBytes)} bytes; the limit of this view is ${number(MOST_BYTES)}`, "ConfigError");
  const algorithm = oneOf(request, "algorithm", ALGORITHMS, "bpe");
  const size = integer(request, "vocab_size", 276, 1, MOST_BYTES + MOST_MERGES);
  if (["sentencepiece", "unigram"].includes(algorithm)) needsServer();
  const options = algorithm === "bpe" ? textOptions(request, size) : wordOptions(request, data.training[algorithm], algorithm);
  const { json: run } = core({ do: "train", ...options }, given);
  const { merges } = run;
  if (merges.length > MOST_MERGES) {
    throw new JetonError(
      `the run has ${number(merges.length)} merges; the limit of this view is ${number(MOST_MERGES)}, a vocabulary size of ${number(run.vocab_size - merges.length + MOST_MERGES)}`,
      "ConfigError",
    );
  }
  if (!run.sequences.length) throw new JetonError("the corpus contains no text to learn from", "TrainingError");
  const bytes = new Map(run.tokens.map(([id, hex]) => [id, fromHex(hex)]));
  const replay = new Replay(run.sequences, bytes, options.tie_break);
  const steps = merges.map(([left, right, made], rank) => ({ rank, ...replay.merge(rank, left, right, made, run.corpus_bytes) }));
  const sequences = replay.sequences();
  const merged = numMerged(sequences);
  const ids = new Set([...sequences.flatMap((sequence) => sequence.ids), ...steps.flatMap((step) => [step.id, ...step.pairs.flatMap((pair) => pair.slice(0, 2))])]);
  return {
    tie_break: options.tie_break,
    stopped: merges.length < run.num_requested ? `no pair is left after ${merges.length} of ${run.num_requested} merges` : null,
    corpus_bytes: run.corpus_bytes,
    corpus_tokens: sequences.reduce((sum, sequence) => sum + sequence.ids.length * sequence.count, 0),
    sequences,
    steps: steps.map((step) => ({ ...step, merged: merged.get(step.rank) ?? 0 })),
    table: Object.fromEntries([...ids].map((id) => [id, lookOf(id, bytes.get(id))])),
    alphabet_size: run.vocab_size - merges.length - run.num_special,
    num_special: run.num_special,
    vocab_size: run.vocab_size,
    algorithm,
    patterns: core({ do: "patterns" }).json.patterns,
  };
}

/** BPE on the text, inside of the pretokens of a pattern. */
function textOptions(request, size) {
  const level = oneOf(request, "level", ["byte", "char"], "byte");
  return {
    vocab_size: size,
    level,
    pattern: text(request, "pattern", level === "char" ? "none" : "o200k"),
    tie_break: oneOf(request, "tie_break", TIE_RULES, "lowest_ids"),
  };
}

/** Algorithms of words: each distinct word once, with its count. */
function wordOptions(request, words, algorithm) {
  const own = oneOf(request, "tie_break", TIE_RULES, "lowest_ids");
  const size = Object.hasOwn(request, "vocab_size") ? request.vocab_size : null;
  const numSpecial = words.special_tokens.length;
  if (size !== null && numSpecial && size <= numSpecial) throw new JetonError(`vocab_size=${size} is too small for ${numSpecial} special tokens`, "ConfigError");
  return { vocab_size: size, level: "char", pattern: "none", tie_break: algorithm === "words" ? own : "lowest_ids", words };
}

/** Rank → number of places that the merge joined: less than the pair's count where occurrences overlap. */
function numMerged(sequences) {
  const merged = new Map();
  for (const { joined, count } of sequences) joined.forEach((rank) => rank !== null && merged.set(rank, (merged.get(rank) ?? 0) + count));
  return merged;
}

const number = (value) => value.toLocaleString("en-US");

class Replay {
  #starts = [];
  #counts = []; // how often each sequence occurs
  #first = [];
  #joined;
  #ids;
  #ends; // for each current symbol, the index of its last one in `first`
  #sizes = new Map(); // id → number of symbols of the alphabet
  #bytes;
  #order;

  constructor(sequences, bytes, tieRule) {
    for (const [ids, count] of sequences) {
      if (!ids.length) continue;
      this.#starts.push(this.#first.length);
      this.#counts.push(count);
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
      return { ids: this.#first.slice(start, end), joined: this.#joined.slice(start, end - 1), count: this.#counts[index] };
    });
  }

  /** Counts all pairs, then merges every occurrence of one pair, from left to right. */
  merge(rank, left, right, made, numBytes) {
    const counts = new Map(); // "left right" → [left, right, count], by first appearance
    let sequence = 0;
    for (let at = 1; at < this.#ids.length; at += 1) {
      const [one, other] = [this.#ids[at - 1], this.#ids[at]];
      if (one === WALL) sequence += 1;
      if (one === WALL || other === WALL) continue;
      const pair = counts.get(`${one} ${other}`);
      const times = this.#counts[sequence];
      if (pair) pair[2] += times;
      else counts.set(`${one} ${other}`, [one, other, times]);
    }
    const pairs = [...counts.values()].sort((one, other) => other[2] - one[2] || this.#order(one, other)).slice(0, TOP);
    const pairCount = counts.get(`${left} ${right}`)?.[2] ?? 0;
    this.#join(rank, left, right, made);
    this.#sizes.set(made, this.#size(left) + this.#size(right));
    const tokens = this.#numTokens();
    const token = Array.from(this.#bytes.get(made), (byte) => byte.toString(16).padStart(2, "0")).join("");
    return { left, right, id: made, token, pair_count: pairCount, pairs, num_pairs: counts.size, corpus_tokens: tokens, bytes_per_token: tokens ? numBytes / tokens : 0 };
  }

  #numTokens() {
    let [total, sequence] = [0, 0];
    for (const id of this.#ids) {
      if (id === WALL) sequence += 1;
      else total += this.#counts[sequence];
    }
    return total;
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
