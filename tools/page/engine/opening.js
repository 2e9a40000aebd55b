// Files that the user opens: `jeton.formats` in JavaScript for those that a browser can be given. They are read here and sent nowhere.
//
// The core reads the entries. This module reads the rest, as `formats/tokenizer_json.py` and others do, and refuses by name what it does
// not support; then the package can open the file (`jeton play`).

import { decodeStrict } from "./bytes.js";
import { JetonError } from "./core.js";
import { inLanguage } from "./language.js";
import { readParts } from "./stages.js";
import { Tokenizer } from "./tokenizer.js";

const FLAGS = { lstrip: 1, rstrip: 2, single_word: 4, normalized: 8 };
const IS_ENTRY = 16;
const COMPANIONS = ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "config.json", "generation_config.json"];

export const formatError = (message, place) => new JetonError(place ? `${message} (${place})` : message, "FormatError");
export const unsupported = (message, place) => new JetonError(place ? `${message} (${place})` : message, "UnsupportedFeatureError");

/**
 * Adds the tokenizers of files that were opened together. Configurations beside a tokenizer are ignored: they change no ids.
 *
 * @param {Array<{name: string, data: Uint8Array}>} files
 * @returns {Promise<{entries: Object[], errors: Array<{name: string, error: string}>}>}
 */
export async function openFiles(catalog, files) {
  const [entries, errors] = [[], []];
  const own = files.filter(({ name }) => !COMPANIONS.includes(name));
  for (const { name, data } of own.length ? own : files) {
    try {
      const tok = await read(catalog, data);
      if (!tok.numTokens) throw formatError("it has an empty vocabulary");
      entries.push(catalog.add(printable(name), tok));
    } catch (error) {
      if (!(error instanceof JetonError)) throw error;
      errors.push({ name, error: inLanguage(`${name}: ${error.message}`) });
    }
  }
  return { entries, errors };
}

/** The name without unprintable characters, in at most 120. */
const printable = (name) => [...name.replace(/^.*[\\/]/, "").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd")].slice(0, 120).join("").trim() || "a file without name";

/** Reads a file of any format. */
async function read(catalog, data) {
  const { core } = catalog;
  const start = decodeStrict(data.subarray(0, 64)) ?? "";
  if (/^\s*\{/.test(start)) return readJson(core, data);
  if (/^[A-Za-z0-9+/]+=* \d+\r?\n/.test(start.slice(0, 64)) || /^[A-Za-z0-9+/]+=* \d+$/.test(start)) return await readRanks(catalog, data);
  if (data[0] === 0x0a && data.length > 16) return readSentencePiece(core, data);
  if (start.startsWith("GGUF")) throw unsupported("GGUF is not supported on this page; jeton play opens it");
  const lines = decodeStrict(data);
  if (lines !== null && /^\[(PAD|UNK|unused\d+)\]$/m.test(lines)) throw unsupported("vocab.txt is not supported on this page; jeton play opens it");
  throw formatError("this is not a file of a tokenizer that this page knows: tokenizer.json, a rank file of tiktoken, or a .model of SentencePiece");
}

const NO_PLAN = { byte_alphabet: false, end_of_word: "", added: [], kinds: {}, scores: null };

/** Builds the opened file. */
function build(core, definition, facts, plan) {
  const { model } = definition;
  const whole = {
    kind: model.type,
    is_byte_level: model.type === "BPE" && model.level === "byte",
    by_chars: model.type !== "BPE" || model.level === "char",
    end_of_word: model.type === "BPE" ? model.end_of_word : null,
    unk_id: null,
    chat: false,
    byte_fallback: Boolean(model.byte_fallback),
    continuing_prefix: model.continuing_subword_prefix || "",
    first_rank: model.type === "BPE" && model.ranks === "tokens" ? null : 0,
    ...facts,
  };
  return new Tokenizer(core, core({ do: "build", options: coreOptions(definition, whole.unk_id), facts: whole, plan: { ...NO_PLAN, ...plan } }).json);
}

/** A definition in the form of the core: `Definition.core_options`. */
function coreOptions(definition, unk) {
  const { unk_token: _, continuing_subword_prefix: prefix, max_chars_per_word: maxChars, single_precision: isSingle, ...model } = definition.model;
  const type = model.type;
  model.unk = unk;
  if (prefix !== undefined) model.prefix = prefix;
  if (maxChars !== undefined) model.max_chars = maxChars;
  if (type === "Unigram") model.precision = isSingle ? "f32" : "f64";
  const suffix = type === "BPE" && model.end_of_word_style === "suffix" ? model.end_of_word || null : null;
  if (type === "BPE") model.end_of_word = model.end_of_word ? model.end_of_word_style : null;
  const decoder = definition.decoder?.map((part) => (part.type === "SentencePiece" ? { ...part, unk } : part)) ?? null;
  return { model, normalizer: definition.normalizer, pretokenizer: definition.pretokenizer, decoder, template: definition.template, suffix };
}

// ── rank files ─────────────────────────────────────────────────────────────────────────────────────────────────────

async function readRanks({ core, data: { ranks } }, data) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  const known = ranks[Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")];
  if (!known) throw new JetonError("a rank file has no pattern, and the content of this one is not known; jeton.load takes a pattern", "ConfigError");
  core({ do: "open", format: "ranks" }, data);
  return build(core, { model: BYTE_RANKS, normalizer: known.normalizer, pretokenizer: known.pretokenizer, decoder: null, template: known.template }, { chat: known.chat }, {
    added: known.special_tokens.map(([content, id]) => [id, content, true, 0]),
  });
}

const BPE = { type: "BPE", level: "byte", ranks: "merges", whole_first: false, end_of_word: null, end_of_word_style: "symbol", unk_token: null, fuse_unk: false, byte_fallback: false, continuing_subword_prefix: null };
const BYTE_RANKS = { ...BPE, ranks: "tokens", whole_first: true };

// ── SentencePiece ──────────────────────────────────────────────────────────────────────────────────────────────────

function readSentencePiece(core, data) {
  const { json: facts } = core({ do: "open", format: "sentence_piece" }, data);
  if (facts.denormalizes) throw unsupported("a denormalizer (denormalizer_spec) is not supported", "denormalizer_spec");
  const [unk] = core({ do: "spelled", spellings: [facts.unk] }).json;
  const common = { unk_token: facts.unk, byte_fallback: facts.byte_fallback };
  const model = {
    unigram: { type: "Unigram", ...common, fuse_unk: true, single_precision: true },
    bpe: { type: "Pieces", ...common },
    char: { type: "Chars", ...common },
    word: { type: "Words", ...common },
  }[facts.model_type];
  const { add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, treat_whitespace_as_suffix, precompiled_charsmap, unk_surface } = facts;
  const shared = { add_dummy_prefix, remove_extra_whitespaces, treat_whitespace_as_suffix };
  const definition = {
    model,
    normalizer: [{ type: "SentencePiece", precompiled_charsmap, escape_whitespaces, ...shared }],
    pretokenizer: [],
    decoder: [{ type: "SentencePiece", ...shared, unk_surface }],
    template: null,
  };
  return build(core, definition, { unk_id: unk }, {});
}

// ── tokenizer.json ─────────────────────────────────────────────────────────────────────────────────────────────────

function readJson(core, data) {
  const { json: file } = core({ do: "open", format: "tokenizer_json" }, data);
  const top = JSON.parse(file.rest);
  const { model } = top;
  if (!isObject(model)) throw formatError("not a tokenizer.json: it has no model", "$.model");
  const own = model.jeton;
  const added = readAdded(core, top, file, own);
  const { definition, mark } = own ? { definition: own.definition, mark: own.end_of_word ?? "" } : theirs(core, top, file);
  if (!isObject(definition?.model) || !Array.isArray(definition.normalizer) || !Array.isArray(definition.pretokenizer)) {
    throw formatError("Jeton's own facts are incomplete or damaged", "$.model.jeton");
  }
  const isByteLevel = definition.model.type === "BPE" && definition.model.level === "byte";
  const unkToken = definition.model.unk_token;
  const unk = unkToken === null || unkToken === undefined ? null : core({ do: "spelled", spellings: [unkToken] }).json[0] ?? added.find(([, content]) => content === unkToken)?.[0] ?? null;
  if (unk === null && ["WordPiece", "Pieces", "Words", "Chars"].includes(definition.model.type)) {
    throw formatError(`the unknown token '${unkToken}' is not in the vocabulary`, "$.model");
  }
  return build(core, definition, { unk_id: unk, chat: Boolean(own?.chat_template) }, {
    byte_alphabet: isByteLevel,
    end_of_word: mark,
    added,
    kinds: own?.kinds ?? {},
    scores: own?.scores ?? null,
  });
}

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isId = (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 28;

/** Added tokens as [id, content, special, flags]. */
function readAdded(core, top, file, own) {
  const tokens = top.added_tokens ?? [];
  if (!Array.isArray(tokens)) throw formatError("added_tokens is not a list", "$.added_tokens");
  tokens.forEach((token, index) => {
    if (!isObject(token) || typeof token.content !== "string" || !token.content || !isId(token.id)) {
      throw formatError("an added token needs an id and a content that is not empty", `$.added_tokens[${index}]`);
    }
  });
  const inVocab = core({ do: "spelled", spellings: tokens.map(({ content }) => content) }).json;
  const seen = new Map(); // content → id
  let highest = -1;
  return tokens.map((token, index) => {
    const { id, content } = token;
    const place = `$.added_tokens[${index}]`;
    if (inVocab[index] !== null && inVocab[index] !== id && !own?.losses?.includes("special_tokens")) {
      throw formatError(`'${content}' has id ${id} here and ${inVocab[index]} in model.vocab`, `${place}.id`);
    }
    if (seen.has(content)) throw formatError(`'${content}' is added twice`, place);
    if (inVocab[index] === null && !own) {
      const given = Math.max(file.num, highest + 1); // HF ignores the id of such a token, and assigns the next one
      if (id !== given) {
        if (core({ do: "inside", piece: 0, id, mark: "" }).json.holds || [...seen.values()].includes(id)) throw formatError(`'${content}' has the id of another token, ${id}`, `${place}.id`);
        throw unsupported(`'${content}' has id ${id}, but it is not in model.vocab, so HF tokenizers would assign ${given}`, `${place}.id`);
      }
    }
    seen.set(content, id);
    highest = Math.max(highest, id);
    const isEntry = own ? (own.entries ?? []).includes(id) : inVocab[index] !== null;
    const flags = Object.entries(FLAGS).reduce((sum, [name, bit]) => sum + (token[name] ? bit : 0), isEntry ? IS_ENTRY : 0);
    return [id, content, Boolean(token.special), flags];
  });
}

function flag(model, name) {
  const value = model[name] ?? null;
  if (value !== null && typeof value !== "boolean") throw formatError(`${name} is neither true nor false`, `$.model.${name}`);
  return Boolean(value);
}

function string(model, name) {
  const value = model[name] ?? null;
  if (value !== null && typeof value !== "string") throw formatError(`${name} is not a string`, `$.model.${name}`);
  return value;
}

/** The definition of a file without Jeton's own facts. */
function theirs(core, top, file) {
  const { model } = top;
  const inferred = file.has_merges ? "BPE" : file.has_scores ? "Unigram" : "continuing_subword_prefix" in model ? "WordPiece" : "WordLevel";
  const kind = typeof model.type === "string" ? model.type : inferred;
  const suffix = kind === "BPE" ? string(model, "end_of_word_suffix") ?? "" : "";
  const isInside = suffix !== "" && (core({ do: "inside", piece: 0, id: 0, mark: suffix }).json.is_inside || (top.added_tokens ?? []).some(({ content }) => content.includes(suffix)));
  const { isByteLevel, ...parts } = readParts(core, top, { isBpe: kind === "BPE", suffix, isInside });
  const unk = string(model, "unk_token");
  return { definition: { model: modelOf(core, model, kind, file, { isByteLevel, suffix, unk }), ...parts }, mark: suffix };
}

function modelOf(core, model, kind, file, { isByteLevel, suffix, unk }) {
  switch (kind) {
    case "BPE":
      if (!file.has_merges) throw formatError("a BPE model needs a list of merges", "$.model.merges");
      if (model.dropout) throw unsupported(`dropout=${model.dropout} in the file would make its ids random; remove it from the file`, "$.model.dropout");
      return {
        ...BPE,
        level: isByteLevel ? "byte" : "char",
        whole_first: flag(model, "ignore_merges"),
        end_of_word: suffix || null,
        end_of_word_style: suffix ? "suffix" : "symbol",
        unk_token: unk,
        fuse_unk: flag(model, "fuse_unk"),
        byte_fallback: flag(model, "byte_fallback"),
        continuing_subword_prefix: string(model, "continuing_subword_prefix") || null,
      };
    case "WordPiece": {
      const longest = model.max_input_chars_per_word ?? 100;
      if (!Number.isInteger(longest) || longest < 0 || longest >= 2 ** 32) throw formatError("max_input_chars_per_word is not an integer from 0", "$.model.max_input_chars_per_word");
      return { type: "WordPiece", unk_token: unk ?? "[UNK]", continuing_subword_prefix: string(model, "continuing_subword_prefix") ?? "##", max_chars_per_word: longest };
    }
    case "WordLevel":
      return { type: "WordLevel", unk_token: unk ?? "<unk>" };
    case "Unigram": {
      const id = model.unk_id ?? null;
      if (id !== null && !(Number.isInteger(id) && id >= 0 && id < file.num)) throw formatError("unk_id is not an id of the vocabulary", "$.model.unk_id");
      const piece = id === null ? null : core({ do: "inside", piece: id, id: 0, mark: "" }).json.piece;
      return { type: "Unigram", unk_token: piece, byte_fallback: flag(model, "byte_fallback"), fuse_unk: true, single_precision: false };
    }
    default:
      throw unsupported(`the model '${kind}' is not supported`, "$.model.type");
  }
}
