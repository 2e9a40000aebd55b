// Vocabulary view: the entries of the tokenizer with paging and search, and details of one entry.
//
// It opens on tokens of text, because most vocabularies begin with control bytes; a search is among all entries.

import { captionName, command, program, python, sourceOf } from "../exports/calls.js";
import { chip, choice, onOtherTokenizers } from "../widgets.js";
import { failure, h, number } from "../dom.js";
import { counted, message, say } from "../language.js";

const PAGE = 100;
const BY = [["text", message("Text")], ["hex", message("Bytes (hexadecimal)")], ["id", message("Ids from")]];
const KINDS = {
  all: message("all entries"),
  ordinary: message("tokens of text"),
  special: message("special tokens"),
  byte: message("single bytes"),
  part: message("parts of characters"),
};
const KIND_WORDS = { special: message("special"), byte: message("byte"), part: message("part of a character") };
const HINTS = { text: "the", hex: "e2 96 81", id: "1000" };
const TYPING_MS = 150;
const EXAMPLES = {
  [message("words that begin with a space")]: { find: " the", by: undefined, kind: undefined },
  [message("special tokens")]: { find: undefined, by: undefined, kind: "special" },
  [message("parts of characters")]: { find: undefined, by: undefined, kind: "part" },
};

export function mount(root, app) {
  const ask = app.latest();
  const query = h("input", { type: "search", "aria-label": say("Search"), spellcheck: "false", autocomplete: "off", on: { input: onType, blur: tell } });
  const by = choice(say("Search by"), BY.map(([value, words]) => [value, say(words)]), (value) => app.set({ by: value === "text" ? undefined : value, from: undefined }));
  const kind = choice(say("Kind"), Object.entries(KINDS).map(([value, words]) => [value, say(words)]), (value) => app.set({ kind: value, from: undefined }));
  const status = h("p", { class: "status", role: "status" });
  const list = h("div", { class: "entries" });
  const earlier = h("button", { type: "button", on: { click: () => turn(-1) } }, say("Previous"));
  const later = h("button", { type: "button", on: { click: () => turn(1) } }, say("Next"));
  const pager = h("nav", { class: "pager", "aria-label": say("Pages") }, earlier, later);
  const detail = h("aside", { class: "detail", "aria-label": say("One token") });
  root.append(
    h("div", { class: "options" }, h("label", { class: "field wide" }, h("span", {}, say("Search")), query), by, kind),
    h("div", { class: "examples" }, say("Examples:"), ...Object.entries(EXAMPLES).map(example)),
    h("div", { class: "bench" }, h("div", { class: "reading" }, status, list, pager), detail),
  );

  let asked = "";
  let answer = null;
  let typing = 0;
  let shownCard = "";

  function example([name, changes]) {
    return h("button", { type: "button", class: "link", on: { click: () => app.go({ ...changes, from: undefined, id: undefined }) } }, say(name));
  }

  function onType() {
    clearTimeout(typing);
    typing = setTimeout(tell, TYPING_MS);
  }

  function tell() {
    if (!typing) return;
    clearTimeout(typing);
    typing = 0;
    app.set({ find: query.value || undefined, from: undefined });
  }

  function turn(step) {
    app.go({ from: Math.max((app.state.from ?? 0) + step * PAGE, 0) || undefined });
  }

  async function update(state) {
    const question = { tokenizer: state.tokenizer, query: asText(state.find), by: state.by ?? "text", kind: kindOf(state), from: Number.isInteger(state.from) && state.from > 0 ? state.from : 0, limit: PAGE };
    const key = JSON.stringify(question);
    if (key === asked) return card(state);
    asked = key;
    root.setAttribute("aria-busy", "true");
    try {
      const found = await ask("vocabulary", question);
      if (found === null) return;
      answer = found;
      if (!found.num && state.kind === undefined && question.kind === "ordinary") return app.set({ kind: "all" }); // a vocabulary of bytes
      draw();
    } catch (error) {
      answer = null;
      status.textContent = "";
      pager.hidden = true;
      list.replaceChildren(failure(error));
    }
    root.removeAttribute("aria-busy");
    card(app.state);
  }

  const asText = (value) => (typeof value === "string" ? value : "");
  const kindOf = (state) => state.kind ?? (asText(state.find) || state.by === "id" ? "all" : "ordinary");

  // ── the list ─────────────────────────────────────────────────────────────────────────────────────────────────────

  function draw() {
    const { num, num_tokens, by_kind, from, entries } = answer;
    for (const option of kind.select.options) {
      const count = option.value === "all" ? num_tokens : by_kind[option.value];
      option.textContent = `${say(KINDS[option.value])} (${number(count)})`;
    }
    const values = { found: number(num), total: number(num_tokens), first: number(from + 1), last: number(from + entries.length) };
    const found = entries.length ? say("{found} of {total} entries: {first} to {last}", values) : say("{found} of {total} entries", values);
    const unused = (app.tokenizer()?.vocab_size ?? 0) - num_tokens;
    status.textContent = unused > 0 ? `${found} · ${say("{number} ids unused", { number: number(unused) })}` : found;
    pager.hidden = num <= PAGE && !from;
    earlier.disabled = !from;
    later.disabled = from + entries.length >= num;
    const hasKinds = entries.some((entry) => KIND_WORDS[entry.kind]);
    const heads = [say("id"), say("token"), say("bytes"), say("spelling"), ...(hasKinds ? [say("kind")] : [])];
    const head = h("thead", {}, h("tr", {}, ...heads.map((name, at) => h("th", { scope: "col", class: at ? null : "figure" }, name))));
    list.replaceChildren(entries.length ? h("table", {}, head, h("tbody", {}, ...entries.map((entry, index) => row(entry, index, hasKinds)))) : h("p", { class: "hint" }, say("No entries found.")));
  }

  function row(entry, index, hasKinds) {
    const button = h("button", { type: "button", class: "link", tabindex: index ? -1 : 0 }, String(entry.id));
    return h(
      "tr",
      { data: { id: entry.id }, on: { click: () => open(entry.id) } },
      h("td", { class: "figure" }, button),
      h("td", { class: "tokens" }, chip(entry), 2 * entry.num_bytes > entry.hex.length ? h("span", { class: "small hint" }, `… ${counted(entry.num_bytes, "byte")}`) : null),
      h("td", {}, h("code", {}, shortened(entry.hex.replace(/..(?!$)/g, "$& ")))),
      h("td", {}, h("code", {}, shortened(entry.spelling))),
      hasKinds ? h("td", {}, KIND_WORDS[entry.kind] ? say(KIND_WORDS[entry.kind]) : null) : null,
    );
  }

  /** Opens the card of an entry. The first one adds a history entry, so that the Back button closes the card. */
  function open(id) {
    if (app.state.id === undefined) app.go({ id });
    else app.set({ id });
  }

  const shortened = (text) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

  // roving tabindex
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || to === undefined || !buttons[to]) return;
    event.preventDefault();
    buttons[to].focus();
  });
  list.addEventListener("focusin", (event) => {
    if (!event.target.matches("button")) return;
    for (const button of list.querySelectorAll("button")) button.tabIndex = button === event.target ? 0 : -1;
  });

  // ── one entry ────────────────────────────────────────────────────────────────────────────────────────────────────

  function card(state) {
    for (const element of list.querySelectorAll("tr[data-id]")) element.classList.toggle("current", element.dataset.id === String(state.id));
    const isFound = answer === null || answer.entries.length > 0;
    const key = JSON.stringify([state.tokenizer, state.id, isFound]);
    if (key === shownCard) return;
    shownCard = key;
    if (!isFound) return detail.replaceChildren();
    if (!Number.isInteger(state.id)) return detail.replaceChildren(h("p", { class: "hint" }, say("Select an entry for its details.")));
    const look = answer?.entries.find((entry) => entry.id === state.id) ?? null;
    const close = () => {
      const [row, hadFocus] = [list.querySelector("tr.current button"), detail.contains(document.activeElement)];
      app.set({ id: undefined });
      if (hadFocus) row?.focus();
    };
    detail.replaceChildren(app.card(state.tokenizer, state.id, { look, close }));
  }

  function exported() {
    if (!answer) return null;
    const { tokenizer, query, by, kind: wanted } = JSON.parse(asked);
    const [name, source] = [captionName(tokenizer), sourceOf(app, tokenizer)];
    const isOpen = Number.isInteger(app.state.id) && answer.entries.length > 0;
    const card = isOpen ? [h("hr"), ...detail.children] : [];
    return {
      elements: [status, list, ...card],
      file: "vocabulary",
      facts: [name, counted(answer.num, "entry")],
      ids: [[name, answer.entries.map(({ id }) => id)]],
      data: () => ({ tokenizer: name, query, by, kind: wanted, num: answer.num, from: answer.from, entries: answer.entries.map(({ id, hex, spelling, kind, num_bytes }) => ({ id, bytes_hex: hex, spelling, kind, num_bytes })) }),
      ...(source === null ? { python: null, shell: null } : calls(source, { query, by, kind: wanted, isOpen })),
      token: isOpen,
    };
  }

  /** The merge tree of the open entry, or else the search; null for a kind of entries, which no option selects. */
  function calls(source, { query, by, kind: wanted, isOpen }) {
    const load = `tok = jeton.load(${python(source)})`;
    if (isOpen) return { python: program(load, `tok.tree(${app.state.id})`), shell: null };
    if (wanted === "special" && !query) return { python: program(load, "tok.special_tokens"), shell: null };
    if (wanted !== "all") return { python: null, shell: null };
    if (by === "id") return { python: program(load, `{id: token for id, token in tok.vocab.items() if id >= ${Number(query)}}`), shell: null };
    if (!query) return { python: program(load, "dict(tok.vocab)"), shell: command("jeton", "vocab", "-t", source) };
    const needle = by === "hex" ? `bytes.fromhex(${python(query.replace(/\\x|0x/g, " "))})` : `${python(query)}.encode()`;
    const pattern = query.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    return {
      python: program(load, `{id: token for id, token in tok.vocab.items() if ${needle} in token}`),
      shell: by === "text" ? command("jeton", "vocab", "-t", source, "--grep", pattern) : null,
    };
  }

  onOtherTokenizers(app, () => {
    if (answer) return;
    asked = "";
    if (!root.hidden) update(app.state);
  });

  return {
    show(state) {
      if (!typing) query.value = asText(state.find); // pending input is newer
      query.placeholder = HINTS[state.by ?? "text"] ?? "";
      by.select.value = state.by ?? "text";
      kind.select.value = kindOf(state);
      update(state);
    },
    hide() {},
    exported,
  };
}
