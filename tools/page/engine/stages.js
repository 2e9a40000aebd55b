// Pipeline stages of a tokenizer.json → those of a definition: `formats/hf_parts.py` and `formats/hf_template.py` in JavaScript.

import { formatError, isObject, unsupported } from "./opening.js";

const NORMALIZERS = ["BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend", "Replace", "Strip", "StripAccents"];
const PRE_TOKENIZERS = ["BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "FixedLength", "Metaspace", "Punctuation", "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"];
const DECODERS = ["BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Strip", "WordPiece"];
const MOST_IDS = 1 << 16;
const BYTE_LEVEL = { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true };

/** The stages of a file: normalizer, pretokenizer, decoder, template, and whether the model's units are bytes. */
export function readParts(core, top, { isBpe, suffix, isInside }) {
  const normalizer = flatten(top.normalizer, "normalizers", "$.normalizer", "normalizer", NORMALIZERS);
  const pre = flatten(top.pre_tokenizer, "pretokenizers", "$.pre_tokenizer", "pre-tokenizer", PRE_TOKENIZERS);
  const decoders = flatten(top.decoder, "decoders", "$.decoder", "decoder", DECODERS);
  const numSpelled = [...normalizer, ...pre].filter(({ type }) => type === "ByteLevel").length;
  const isByteLevel = isBpe && numSpelled > 0;
  const pretokenizer = [];
  pre.forEach((part, index) => {
    const isOnly = numSpelled === 1 && index === pre.length - 1; // a second ByteLevel would encode the output of the first
    if (part.type === "ByteLevel" && isOnly && isByteLevel && !(part.add_prefix_space ?? true)) {
      if (part.use_regex ?? true) pretokenizer.push({ type: "Pattern", name: "gpt2" });
    } else if (part.type === "WhitespaceSplit") {
      pretokenizer.push({ type: "Pattern", name: "whitespace" });
    } else {
      pretokenizer.push(part.type === "Split" ? readSplit(core, part) : part);
    }
  });
  return { normalizer, pretokenizer, decoder: readDecoder(top, decoders, isByteLevel, suffix, isInside), template: readTemplate(top.post_processor), isByteLevel };
}

/** Flattens nested Sequences. */
function flatten(spelled, key, place, role, known) {
  if (spelled === null || spelled === undefined) return [];
  const flat = [];
  const pending = [[spelled, place]];
  while (pending.length) {
    const [part, where] = pending.pop();
    if (!isObject(part) || typeof part.type !== "string") throw formatError(`a ${role} is an object with a "type"`, where);
    if (part.type === "Sequence") {
      if (!Array.isArray(part[key])) throw formatError("a Sequence needs a list", `${where}.${key}`);
      for (let index = part[key].length - 1; index >= 0; index -= 1) pending.push([part[key][index], `${where}.${key}[${index}]`]);
    } else if (!known.includes(part.type)) {
      throw unsupported(`the ${role} '${part.type}' is not supported`, where);
    } else {
      flat.push(part);
    }
  }
  return flat;
}

/** A Split as a Pattern, if its regex is a known one or means the same in both dialects. */
function readSplit(core, part) {
  const regex = isObject(part.pattern) ? part.pattern.Regex : undefined;
  if (typeof regex !== "string" || part.behavior !== "Isolated" || part.invert) return part;
  const { json: known } = core({ do: "oniguruma", regex });
  const name = known.names.find(([, spelled]) => spelled === regex)?.[0];
  if (name) return { type: "Pattern", name };
  return known.regex === regex ? { type: "Pattern", regex } : part;
}

/** True for an added token that HF's decoder ByteLevel changes: not ASCII, and all characters are in the byte alphabet. */
const isChanged = ({ content }) => /^[!-~\u00a1-\u00ac\u00ae-\u0143]+$/.test(content) && /[^!-~]/.test(content);

/** The decoder; null if it equals concatenation, with a space at ends of words. */
function readDecoder({ decoder: spelled, added_tokens: added }, parts, isByteLevel, suffix, isInside) {
  if (spelled === null || spelled === undefined) return [{ type: "Join", separator: " " }];
  const types = parts.map(({ type }) => type).join();
  if (suffix) {
    const isPlain = !isByteLevel && spelled.type === "BPEDecoder" && spelled.suffix === suffix && Object.keys(spelled).length === 2;
    return isPlain && !isInside ? null : parts;
  }
  if (types !== (isByteLevel ? "ByteLevel" : "Fuse")) return parts;
  return isByteLevel && added?.some(isChanged) ? [BYTE_LEVEL] : null;
}

const text = (sequence, type_id = 0) => ({ sequence, type_id });
const ids = (id, type_id = 0) => ({ ids: [id], type_id });

/** A post-processor as a template; null if it adds nothing. */
function readTemplate(processor) {
  if (processor === null || processor === undefined) return null;
  let [single, pair, trimmer, adds, isRoberta] = [[text("A")], [text("A"), text("B", 1)], null, false, false];
  for (const [part, where] of flatProcessors(processor)) {
    if (adds) throw refused(part.type, where, "it follows one that adds tokens");
    let trims = false;
    if (part.type === "ByteLevel" || part.type === "RobertaProcessing") {
      trims = field(part, "trim_offsets", "boolean", where);
      field(part, "add_prefix_space", "boolean", where);
    }
    if (part.type === "RobertaProcessing" || part.type === "BertProcessing") {
      const [cls, sep] = [named(part, "cls", where), named(part, "sep", where)];
      single = [ids(cls), text("A"), ids(sep)];
      isRoberta = part.type === "RobertaProcessing";
      pair = isRoberta ? [...single, ids(sep), text("B"), ids(sep)] : [...single, text("B", 1), ids(sep, 1)];
      adds = true;
    } else if (part.type === "TemplateProcessing") {
      [single, pair, adds] = [items(part, "single", where), items(part, "pair", where), true];
    } else if (part.type !== "ByteLevel") {
      throw refused(part.type, where);
    }
    if (trims) {
      if (trimmer) throw refused(part.type, where, "two post-processors trim offsets");
      trimmer = part;
    }
  }
  if (!trimmer && !adds) return null;
  return { single, pair, trim_offsets: Boolean(trimmer), add_prefix_space: Boolean(trimmer?.add_prefix_space), overflow_type_ids: isRoberta };
}

function flatProcessors(processor) {
  const found = [];
  const waiting = [[processor, "$.post_processor"]];
  while (waiting.length) {
    const [part, place] = waiting.pop();
    if (!isObject(part)) throw formatError("a post-processor must be an object", place);
    if (part.type !== "Sequence") found.push([part, place]);
    else [...field(part, "processors", "array", place).entries()].reverse().forEach(([index, inner]) => waiting.push([inner, `${place}.processors[${index}]`]));
  }
  return found;
}

const refused = (kind, place, why) => unsupported(`the post-processor '${kind}' is not supported${why ? ` (${why})` : ""}`, place);

function field(part, name, kind, place) {
  const value = part[name];
  const isRight = kind === "array" ? Array.isArray(value) : kind === "object" ? isObject(value) : typeof value === kind;
  if (!isRight) throw formatError(`${name} must be ${{ boolean: "true or false", string: "a string", array: "a list", object: "an object" }[kind]}`, `${place}.${name}`);
  return value;
}

function id(value, place) {
  if (!Number.isInteger(value) || value < 0 || value >= 2 ** 32) throw formatError("an id is a number from 0 to 4294967295", place);
  return value;
}

function named(part, name, place) {
  const value = part[name];
  if (!Array.isArray(value) || value.length !== 2 || typeof value[0] !== "string") throw formatError(`${name} must be a token and its id`, `${place}.${name}`);
  return id(value[1], `${place}.${name}[1]`);
}

function items(part, name, place) {
  const special = field(part, "special_tokens", "object", place);
  let added = 0;
  return field(part, name, "array", place).map((piece, index) => {
    const where = `${place}.${name}[${index}]`;
    const kind = isObject(piece) && Object.keys(piece).length === 1 ? Object.keys(piece)[0] : null;
    if (!["Sequence", "SpecialToken"].includes(kind) || !isObject(piece[kind])) throw formatError("a piece must be a Sequence or a SpecialToken", where);
    const [inside, type] = [piece[kind], id(piece[kind].type_id, `${where}.${kind}.type_id`)];
    if (kind === "SpecialToken") {
      if (!isObject(special[inside.id])) throw formatError(`special_tokens has no entry for '${inside.id}'`, `${where}.id`);
      const at = `${place}.special_tokens['${inside.id}']`;
      const given = field(special[inside.id], "ids", "array", at).map((each) => id(each, `${at}.ids`));
      added += given.length;
      if (added > MOST_IDS) throw formatError(`a template that adds more than ${MOST_IDS} ids to every text`, at);
      return { ids: given, type_id: type };
    }
    if (inside.id === "A" || (inside.id === "B" && name === "pair")) return text(inside.id, type);
    throw formatError(`${name} contains the sequence '${inside.id}'`, `${where}.id`);
  });
}
