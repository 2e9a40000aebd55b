// Merge trees: `jeton/drawing/tree_nodes.py` and `jeton/explanation/entry.py` in JavaScript, which describe them.

import { concat, isAt } from "./bytes.js";
import { hue } from "./drawing.js";
import { translate } from "./language.js";
import { partsOf } from "./look_parts.js";

const MOST_SHOWN = 96;

// Kinds of entries that no merges build → the note on their tree.
const NOT_MERGED = {
  3: "an added token: matched as a whole, not built by merges",
  4: "a special token: matched as a whole, not built by merges",
  5: "an unused piece, which no text yields",
  6: "a byte token: it encodes part of a character that is not in the vocabulary",
  7: "its spelling has a character outside the byte alphabet, so no text yields it",
};

/** The merge tree of an entry. */
export function entryTree(tok, id) {
  const { kind } = tok.entry(id);
  if (NOT_MERGED[kind]) return tree(tok, listed(tok, id, new Map()), translate(NOT_MERGED[kind]));
  if (!["BPE", "Pieces"].includes(tok.facts.kind)) return tree(tok, listed(tok, id, new Map()), translate("this model has no merges"));
  const steps = tok.steps(id);
  if (steps) {
    const made = merged(tok, steps);
    const ids = made.roots.map((root) => made.nodes[root].id);
    if (ids.length === 1 && ids[0] === id) return tree(tok, made, "");
    const tokens = translate(ids.length === 1 ? "{number} token" : "{number} tokens", { number: ids.length.toLocaleString("en-US") });
    return tree(tok, made, translate("id {id} is not reachable by merges: its bytes merge into {tokens}", { id, tokens }));
  }
  if (tok.facts.kind !== "BPE") return tree(tok, listed(tok, id, new Map()), translate("this model has no list of merges"));
  return tree(tok, listed(tok, id, tok.merges()), "");
}

function tree(tok, { nodes, roots }, note) {
  const shown = looks(tok, nodes);
  return { nodes: nodes.map((node, index) => ({ ...node, ...shown[index] })), roots, note };
}

const leaf = (id, start, end) => ({ id, rank: null, start, end, left: null, right: null });

/** The forest of merges of an entry's own bytes. */
function merged(tok, { start_ids, start_lengths, merges, splits }) {
  const nodes = [];
  const at = new Map(); // start of a symbol → its node
  const empty = []; // symbols that cover no bytes
  let start = 0;
  start_ids.forEach((id, index) => {
    const length = start_lengths ? start_lengths[index] : tok.spelled(id).length;
    if (length) at.set(start, nodes.length);
    else empty.push(nodes.length);
    nodes.push(leaf(id, start, start + length));
    start += length;
  });
  for (const { position, result, rank } of merges) {
    const left = at.get(position);
    const { end } = nodes[left];
    const right = at.has(end) ? at.get(end) : empty.shift();
    at.delete(end);
    at.set(position, nodes.length);
    nodes.push({ id: result, rank, start: position, end: nodes[right].end, left, right });
  }
  for (const split of splits) {
    const whole = nodes[at.get(split.position)];
    [[whole.left, split.left, whole.start, split.middle], [whole.right, split.right, split.middle, whole.end]].forEach(([part, id, from, end]) => {
      if (part !== null && nodes[part].id === id && nodes[part].start === from && nodes[part].end === end) {
        at.set(from, part);
      } else { // the piece was merged from other children than those it is split into
        at.set(from, nodes.length);
        nodes.push(leaf(id, from, end));
      }
    });
  }
  const starts = [...at.keys()].sort((one, other) => one - other);
  return { nodes, roots: [...starts.map((each) => at.get(each)), ...empty] };
}

/** The tree of an id from merges, id → [left, right, rank]; an id without a merge is a leaf. */
function listed(tok, id, merges) {
  const order = []; // ids in reverse postorder
  const open = [id];
  while (open.length) {
    const next = open.pop();
    order.push(next);
    if (merges.has(next)) open.push(...merges.get(next).slice(0, 2));
  }
  const nodes = [];
  const done = [];
  let start = 0;
  for (const each of order.reverse()) {
    if (merges.has(each)) {
      const [left, right] = done.splice(-2);
      nodes.push({ id: each, rank: merges.get(each)[2], start: nodes[left].start, end: nodes[right].end, left, right });
    } else {
      nodes.push(leaf(each, start, start + tok.spelled(each).length));
      start = nodes.at(-1).end;
    }
    done.push(nodes.length - 1);
  }
  return { nodes, roots: done };
}

/** Color and displayed form of each node in its context. */
function looks(tok, nodes) {
  const text = concat(nodes.filter(({ left }) => left === null).map(({ id }) => tok.spelled(id)));
  return nodes.map(({ id, start }) => {
    const whole = tok.spelled(id);
    const data = whole.subarray(0, MOST_SHOWN);
    const end = start + data.length;
    let [before, after] = [new Uint8Array(), whole.subarray(MOST_SHOWN, MOST_SHOWN + 3)];
    if (isAt(data, text, start, Math.min(end, text.length))) [before, after] = [text.subarray(Math.max(start - 3, 0), start), text.subarray(end, end + 3)];
    const parts = partsOf(concat([before, data, after]), before.length, before.length + data.length);
    return { hue: hue(whole), shown: parts.map(([, shown]) => shown).join("") + (whole.length > MOST_SHOWN ? "…" : "") };
  });
}

