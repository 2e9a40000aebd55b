// A tokenizer that the core has loaded.

import { decode, encode, fromHex } from "./bytes.js";
import { described } from "./drawing.js";

export class Tokenizer {
  #core;
  #entries = new Map(); // id → facts
  #merges = null;

  /**
   * @param {Function} core  see core.js
   * @param {Object} json  the core's reply about a tokenizer that it has loaded
   */
  constructor(core, json) {
    this.#core = core;
    this.number = json.tok;
    this.facts = json.facts; // those of page/bundle.py
    this.vocabSize = json.vocab_size;
    this.numTokens = json.num_tokens;
    this.special = new Map(json.special.map(([id, spelling]) => [id, encode(spelling)]));
  }

  /** The tokenizer of a bundle. */
  static load = (core, bundle) => new Tokenizer(core, core({ do: "load" }, bundle).json);

  #ask(what, options, data) {
    return this.#core({ do: what, tok: this.number, ...options }, data);
  }

  /** Frees the memory of the core. */
  forget() {
    this.#ask("forget");
  }

  count(text, { special = false, template = false } = {}) {
    return this.#ask("count", { special, template }, text).json.count;
  }

  /** The ids of a text. */
  encode(text, { special = false, template = false } = {}) {
    const { data } = this.#ask("encode", { special, template }, text);
    return new Uint32Array(data.buffer, data.byteOffset, data.length / 4);
  }

  /** The tokens of a text: ids, bytes of each, spans. */
  tokenize(text, { special = false, template = false } = {}) {
    const bytes = encode(text);
    const { json } = this.#ask("tokenize", { special, template }, bytes);
    const table = new Map(json.tokens.map(([id, hex]) => [id, fromHex(hex)]));
    return { text: bytes, ids: json.ids, tokens: json.ids.map((id) => table.get(id)), byteSpans: json.byte_spans, charSpans: json.char_spans, isTemplate: json.is_template };
  }

  /** The drawing of a text; tokens of the template are at the edge of the text. */
  draw(text, options) {
    const { text: bytes, ids, tokens, byteSpans, charSpans, isTemplate } = this.tokenize(text, options);
    const placed = (spans, length) => {
      let [at, left] = [0, isTemplate.filter((own) => !own).length];
      return spans.map((span, index) => {
        if (isTemplate[index]) return [at, at];
        left -= 1;
        at = left ? span[1] : length;
        return span;
      });
    };
    if (!isTemplate.includes(true)) return described(bytes, ids, tokens, byteSpans, charSpans, this.special);
    return described(bytes, ids, tokens, placed(byteSpans, bytes.length), placed(charSpans, [...decode(bytes)].length), this.special);
  }

  /** Facts of an entry: kind, hex, spelled, token; null without one. */
  entry(id) {
    this.fetch([id]);
    return this.#entries.get(id);
  }

  /** Reads the facts of several entries in one call. */
  fetch(ids) {
    const fresh = ids.filter((id) => !this.#entries.has(id));
    if (!fresh.length) return;
    this.#ask("entries", { ids: fresh }).json.forEach((entry, index) => this.#entries.set(fresh[index], entry));
  }

  /** The content of an entry, with the end-of-word mark if it ends a word. */
  spelled(id) {
    const entry = this.entry(id);
    if (!entry) return new Uint8Array();
    entry.content ??= fromHex(entry.spelled);
    return entry.content;
  }

  explain(text, special) {
    return this.#ask("explain", { special }, text).json;
  }

  steps(id) {
    return this.#ask("steps", { id }).json;
  }

  /** Id → [left, right, rank] of the first merge that makes it. */
  merges() {
    if (!this.#merges) {
      this.#merges = new Map();
      this.#ask("merges").json.forEach(([left, right, made], rank) => {
        if (!this.#merges.has(made)) this.#merges.set(made, [left, right, rank]);
      });
    }
    return this.#merges;
  }

  /** The rank of the first merge; that of an opened rank file is computed once. */
  firstRank() {
    this.facts.first_rank ??= this.#ask("merges").json[0]?.[2] ?? 0;
    return this.facts.first_rank;
  }

  listing() {
    return this.#ask("listing");
  }

  /** Number of unknown tokens among ids. */
  numUnknown(ids) {
    const { unk_id: unknown } = this.facts;
    return unknown === null ? 0 : ids.reduce((num, id) => num + (id === unknown ? 1 : 0), 0);
  }
}
