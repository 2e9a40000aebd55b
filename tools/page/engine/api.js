// Endpoints of the page's API: `playground/api` in JavaScript. Each takes the catalog and a request, and returns a response.

import { encode, fromHex, head, length } from "./bytes.js";
import { compare, tokenizers } from "./compare.js";
import { JetonError, needsServer } from "./core.js";
import { described, first, hue } from "./drawing.js";
import { localized } from "./language.js";
import { visible } from "./look_parts.js";
import { flag, integer, shown, text } from "./request_fields.js";
import { train } from "./train.js";
import { entryTree } from "./trees.js";
import { vocabulary } from "./vocabulary.js";

const MOST_DRAWN = 200_000;
const SHORT_TEXT = 1 << 16; // longer texts: the ids are computed first
const MOST_TRIES = 5;
const MOST_EXPLAINED = 10_000;
const MOST_FETCHED = 10_000; // bytes that an example fetches without a click
// Other names of the same vocabulary.
const ALIASES = { r50k_base: ["gpt2", "hf:gpt2", "hf:openai-community/gpt2"] };

export const ENDPOINTS = {
  tokens,
  token,
  why,
  train,
  compare,
  paragraph,
  vocabulary: async (catalog, request) => vocabulary(await catalog.get(text(request, "tokenizer")), request),
  classics,
  download: () => ({ downloads: [] }),
  chat: needsServer,
};

async function tokens(catalog, request) {
  const tok = await catalog.get(text(request, "tokenizer"));
  const given = text(request, "text");
  const limit = integer(request, "limit", 20_000, 1, MOST_DRAWN);
  const options = { special: flag(request, "special"), template: flag(request, "template") };
  let [drawing, num] = [null, 0];
  if (given.length <= SHORT_TEXT || length(given) <= SHORT_TEXT) {
    const whole = tok.draw(given, options);
    [drawing, num] = [first(whole, limit), whole.ids.length];
  } else {
    [drawing, num] = beginning(tok, given, limit, options);
  }
  return {
    drawing,
    num_tokens: num,
    num_bytes: drawing.text_bytes,
    num_chars: drawing.text_chars,
    drawn_bytes: drawing.byte_ends.reduce((most, end) => Math.max(most, end), 0),
    unk_id: tok.facts.unk_id,
  };
}

/** Draws the first tokens of a long text from a prefix that is doubled until it has enough of them. */
function beginning(tok, given, limit, options) {
  const ids = tok.encode(given, options);
  const wanted = Math.min(limit, ids.length);
  const numChars = length(given);
  let prefix = 1 + Math.floor((numChars * wanted) / Math.max(ids.length, 1)) + SHORT_TEXT / 4;
  let [drawing, same] = [null, 0];
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    drawing = tok.draw(head(given, prefix), options);
    same = 0;
    while (same < drawing.ids.length && same < ids.length && drawing.ids[same] === ids[same]) same += 1;
    if (same >= wanted || prefix >= numChars) break;
    prefix *= 2;
  }
  drawing = first(drawing, Math.min(wanted, same));
  return [{ ...drawing, text_bytes: encode(given).length, text_chars: numChars }, ids.length];
}

async function token(catalog, request) {
  const tok = await catalog.get(text(request, "tokenizer"));
  const id = integer(request, "id", null, 0, Math.max(tok.vocabSize - 1, 0));
  const entry = tok.entry(id);
  if (!entry) throw new JetonError(`id ${id} is not in the vocabulary (${tok.numTokens} tokens, highest id ${tok.vocabSize - 1})`, "UnknownTokenError");
  const tree = entryTree(tok, id);
  const last = tree.nodes.at(-1);
  const isSpecial = tok.special.has(id);
  const data = fromHex(entry.hex);
  const drawn = described(data, [id], [data], [[0, data.length]], null, isSpecial ? tok.special : new Map());
  const rank = last?.id === id ? last.rank : null;
  return { id, hex: entry.hex, spelling: entry.token, special: isSpecial, rank, first_rank: tok.firstRank(), tree, look: drawn.table[0] };
}

async function why(catalog, request) {
  const tok = await catalog.get(text(request, "tokenizer"));
  const given = text(request, "text");
  const special = flag(request, "special");
  const explained = head(given, MOST_EXPLAINED);
  const { pattern, pretokens } = tok.explain(explained, special);
  for (const pretoken of pretokens) pretoken.shown = visible(fromHex(pretoken.hex));
  const { ids, tokens: bytes, byteSpans } = tok.tokenize(explained, { special });
  const hex = (data) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return {
    text: explained,
    pattern,
    pretokens,
    tokens: ids.map((id, index) => ({ id, bytes_hex: hex(bytes[index]), byte_span: byteSpans[index] })),
    kind: tok.facts.kind,
    first_rank: tok.firstRank(),
    byte_fallback: tok.facts.byte_fallback,
    continuing_prefix: tok.facts.continuing_prefix,
    names: names(tok, pretokens),
    explained_chars: length(explained),
    num_chars: length(given),
  };
}

/** Id → [visible form, hue, number of bytes] of all ids in an explanation. */
function names(tok, pretokens) {
  const ids = new Set();
  const add = (...more) => more.forEach((id) => id !== null && ids.add(id));
  for (const { start_ids: start, ids: end, merges, splits = [], lattice, attempts } of pretokens) {
    add(...start);
    add(...end);
    for (const { left, right, result, rivals } of merges) add(left, right, result, ...rivals.flatMap((rival) => rival.slice(0, 2)));
    for (const { id, left, right } of splits) add(id, left, right);
    for (const edges of lattice ? [lattice.edges, lattice.best.edges, ...lattice.others.map((other) => other.edges)] : []) edges.forEach((edge) => add(edge[2]));
    for (const found of attempts?.found ?? []) add(found[2]);
  }
  tok.fetch([...ids]);
  return Object.fromEntries([...ids].map((id) => [id, [visible(tok.spelled(id)), hue(tok.spelled(id)), tok.spelled(id).length]]));
}

async function paragraph(catalog, request) {
  const { done, failed } = await tokenizers(catalog, request, () => null);
  const languages = catalog.data.paragraph.map((language) => {
    const encoded = done.map(({ tok }) => {
      try {
        return tok.encode(language.text);
      } catch (error) {
        if (error.kind === "InvalidTextError") return null; // characters outside the vocabulary, and no unknown token
        throw error;
      }
    });
    return {
      ...language,
      name: localized(language.name),
      bytes: encode(language.text).length,
      chars: length(language.text),
      counts: encoded.map((ids) => ids?.length ?? null),
      unknown: encoded.map((ids, index) => (ids ? done[index].tok.numUnknown(ids) : 0)),
    };
  });
  return { languages, tokenizers: done.map(({ key }) => key), failed };
}

async function classics(catalog, request) {
  const all = catalog.data.classics;
  if (!Object.hasOwn(request, "id")) return { classics: all.map(({ id, title }) => ({ id, title: localized(title) })) };
  const wanted = text(request, "id");
  const classic = all.find(({ id }) => id === wanted);
  if (!classic) throw new JetonError(`there is no classic ${shown(wanted, 60)}`, "ConfigError");
  const panels = await Promise.all(classic.panels.map((panel, index) => classicPanel(catalog, panel, catalog.data.recorded[wanted][index])));
  const keys = [...new Set(panels.map(({ key }) => key).filter(Boolean))];
  return {
    id: wanted,
    title: localized(classic.title),
    story: localized(classic.story).map((words) => words.replace(/\{(\d+)\}/g, (_, index) => panels[index].num_tokens)),
    panels,
    state: classic.compare && keys.length > 1 ? { view: "compare", compare: keys, text: panels[0].text } : null,
  };
}

async function classicPanel(catalog, panel, record) {
  const key = await keyOf(catalog, panel, record);
  const special = new Map(Object.entries(record.special_tokens).map(([id, spelling]) => [Number(id), encode(spelling)]));
  const drawing = described(encode(panel.text), record.ids, record.tokens.map(fromHex), record.byte_spans, null, special);
  const state = { view: "tokens", tokenizer: key, text: panel.text, special: panel.special };
  const note = panel.note ? localized(panel.note) : null;
  return { ...panel, note, key, recorded: key === null, num_tokens: record.ids.length, drawing, state: key === null ? null : state };
}

/** The key of the panel's tokenizer if its ids are the recorded ones; an example causes no large download. */
async function keyOf(catalog, panel, record) {
  const names = [panel.tokenizer, ...(ALIASES[panel.tokenizer] ?? [])];
  for (const key of catalog.atHand(MOST_FETCHED)) {
    if (!names.includes(key.replace(/ \(\d+\)$/, "").replace(/\.(tiktoken|json|model)$/, ""))) continue;
    let ids;
    try {
      ids = (await catalog.get(key)).encode(panel.text, { special: panel.special });
    } catch {
      continue;
    }
    if (ids.length === record.ids.length && ids.every((id, index) => id === record.ids[index])) return key;
  }
  return null;
}

