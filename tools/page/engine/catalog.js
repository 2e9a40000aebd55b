// The tokenizers of the page: those of the site, each a bundle that is fetched when it is first selected, and files of the user.
//
// Everything is injected, so that the tests run this module in node: `fetchBytes` is the only access to the network.

import { useTables } from "./characters.js";
import { JetonError, makeCore } from "./core.js";
import { inLanguage } from "./language.js";
import { shown } from "./request_fields.js";
import { Tokenizer } from "./tokenizer.js";

const MOST_OPENED = 8; // opened tokenizers in memory; the oldest is dropped
const NOT_LOADED = { kind: null, vocab_size: null, has_merges: null, special_tokens: null, chat: null };

export class Catalog {
  #entries = new Map(); // key → {key, name, bytes, dropped, load, tok, error}

  /**
   * @param {Function} core  see core.js
   * @param {Object} data  what `tools/build_page.py` writes to data.json
   * @param {(file: string) => Promise<Uint8Array>} fetchBytes  reads a file of the site, decompressed
   */
  constructor(core, data, fetchBytes) {
    this.core = core;
    this.data = data;
    useTables(data.characters);
    for (const { key, name, models, source, file, bytes } of data.tokenizers) {
      this.#entries.set(key, { key, name, models, source, bytes, dropped: false, load: async () => Tokenizer.load(core, await fetchBytes(file)) });
    }
  }

  /** The tokenizer of a key, loaded on first use; an error is kept, too. */
  async get(key) {
    const entry = this.#entries.get(key);
    if (!entry) throw new JetonError(`there is no tokenizer ${shown(key, 100)} here; drop its file on the page`, "ConfigError");
    if (entry.error) throw entry.error;
    if (!entry.tok) {
      entry.loading ??= entry.load();
      try {
        entry.tok = await entry.loading;
      } catch (error) {
        if (error instanceof JetonError && error.kind !== "Unreachable") entry.error = error; // the network may come back
        throw error;
      } finally {
        entry.loading = null;
      }
    }
    return entry.tok;
  }

  /** Keys of the tokenizers that are loaded, or are at most so large. */
  atHand(mostBytes) {
    return [...this.#entries.values()].filter(({ tok, bytes }) => tok || bytes <= mostBytes).map(({ key }) => key);
  }

  /** Facts of each entry; `bytes`: what its first use fetches. */
  describe() {
    return [...this.#entries.values()].map(describe);
  }

  /** Adds a tokenizer of an opened file; its key is the name, with a number if another tokenizer has it. */
  add(name, tok) {
    let key = name;
    for (let number = 2; this.#entries.has(key); number += 1) key = `${name} (${number})`;
    const opened = [...this.#entries.values()].filter(({ dropped }) => dropped);
    for (const old of opened.slice(0, Math.max(opened.length - MOST_OPENED + 1, 0))) {
      old.tok.forget();
      this.#entries.delete(old.key);
    }
    const entry = { key, name: key, models: [], source: name, bytes: 0, dropped: true, tok };
    this.#entries.set(key, entry);
    return describe(entry);
  }
}

function describe({ key, name, models, source, bytes, dropped, tok, error }) {
  const facts = tok
    ? { kind: tok.facts.kind, vocab_size: tok.vocabSize, has_merges: tok.facts.kind === "BPE", special_tokens: tok.special.size, chat: tok.facts.chat }
    : NOT_LOADED;
  return { key, name, loaded: Boolean(tok), dropped, error: error ? inLanguage(error.message) : null, ...facts, models, source, bytes };
}

/** Starts the core and the catalog. */
export async function makeCatalog(fetchBytes) {
  const [module, data] = await Promise.all([fetchBytes("jeton.wasm"), fetchBytes("data.json")]);
  return new Catalog(await makeCore(module), JSON.parse(new TextDecoder().decode(data)), fetchBytes);
}
