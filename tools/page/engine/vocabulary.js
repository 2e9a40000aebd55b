// Paged listing and search of a tokenizer's entries: `playground/api/vocabulary.py` in JavaScript.

import { JetonError } from "./core.js";
import { encode, fromHex, head } from "./bytes.js";
import { lookOf } from "./drawing.js";
import { integer, oneOf, shown, text } from "./request_fields.js";

const MOST_ENTRIES = 500;
const MOST_SHOWN_BYTES = 200;
const KINDS = ["special", "byte", "part", "ordinary"];
// One character for each byte, so that `indexOf` searches bytes.
const byByte = new TextDecoder("windows-1252");

export function vocabulary(tok, request) {
  tok.index ??= makeIndex(tok);
  const { ids, kinds } = tok.index;
  const query = text(request, "query", "");
  const by = oneOf(request, "by", ["text", "hex", "id"], "text");
  const kind = oneOf(request, "kind", ["all", ...KINDS], "all");
  const from = integer(request, "from", 0, 0, 1 << 30);
  const limit = integer(request, "limit", 100, 1, MOST_ENTRIES);
  let places = by === "id" ? since(tok.index, idOf(query)) : search(tok.index, needleOf(query, by));
  if (kind !== "all") places = places.filter((place) => kinds[place] === KINDS.indexOf(kind));
  const count = (number) => kinds.reduce((num, each) => num + (each === number ? 1 : 0), 0);
  return {
    num: places.length,
    num_tokens: ids.length,
    by_kind: Object.fromEntries(KINDS.map((name, number) => [name, count(number)])),
    from,
    entries: places.slice(from, from + limit).map((place) => entryAt(tok, place)),
  };
}

function makeIndex(tok) {
  const { json, data } = tok.listing();
  const starts = [0];
  for (const length of json.lengths) starts.push(starts.at(-1) + length);
  return { ids: json.ids, kinds: json.kinds, data, starts, searched: byByte.decode(data) };
}

function needleOf(query, by) {
  if (by === "text") return encode(query);
  const digits = query.replaceAll("\\x", " ").replaceAll("0x", " ");
  const pairs = digits.split(/[\t-\r ]+/).filter(Boolean);
  if (!pairs.every((pair) => /^([0-9a-f]{2})+$/i.test(pair))) {
    throw new JetonError(`${shown(query, 60)} is not hexadecimal; write bytes like e2 96 81`, "ConfigError");
  }
  return fromHex(pairs.join(""));
}

function idOf(query) {
  const digits = query.trim();
  if (!digits) return 0;
  if (!/^\p{Nd}+$/u.test(digits) || query.length > 10) throw new JetonError(`${shown(query, 60)} is not an id; ids are integers from 0`, "ConfigError");
  return Number(digits);
}

function search({ ids, searched, starts }, needle) {
  if (!needle.length) return ids.map((_, place) => place);
  const wanted = byByte.decode(needle);
  const places = [];
  for (let at = searched.indexOf(wanted); at >= 0; ) {
    const place = lastNotAbove(starts, at);
    const end = starts[place + 1];
    const isInside = at + wanted.length <= end;
    if (isInside) places.push(place);
    at = searched.indexOf(wanted, isInside ? end : at + 1); // a match across the boundary of two entries
  }
  return places;
}

const since = ({ ids }, id) => ids.map((_, place) => place).slice(lastNotAbove(ids, id - 1) + 1);

/** Index of the last number that is not above a limit; -1 without one. */
function lastNotAbove(numbers, limit) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function entryAt(tok, place) {
  const { ids, kinds, data, starts } = tok.index;
  const [id, kind] = [ids[place], KINDS[kinds[place]]];
  const whole = data.subarray(starts[place], starts[place + 1]);
  return {
    ...lookOf(id, whole.subarray(0, MOST_SHOWN_BYTES), kind === "special"),
    spelling: head(tok.entry(id).token, MOST_SHOWN_BYTES),
    kind,
    num_bytes: whole.length,
  };
}
