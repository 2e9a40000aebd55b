// The page: tabs, the tokenizer, the state, and what views are given.
//
// A view is a module `views/<id>.js`, listed in `views/index.js`, that exports
//
//     mount(root, app) → {show(state), hide()}
//
// `mount` is called once, when the view is first opened, with an empty <section> of its own. `show` is called when the
// view is opened and after every change of the state while it is open, so it must be cheap where nothing changed that
// the view cares for; `hide` when another view opens. A view keeps to its root, puts text in as text (`h` of `dom.js`),
// says errors with `failure` of `dom.js`, and may bring elements to `views.css` under a class of its own.
//
// app.state                     what the address holds: view, tokenizer, text, special, template, and what views add
//                               (any JSON; a key of undefined is removed). Read it; change it with:
// app.set(changes)              changes the state, the address and the open view
// app.ask(path, body, options)  a question to the server; throws a JetonError with the message a person reads
// app.latest()                  a function like ask for one kind of question: a new one aborts the one before, which
//                               then answers null
// app.draw(drawing, options)    tokens as an element, see draw.js
// app.card(tokenizer, id, options)  all about one token, as an element, see card.js
// app.textBox(options)          a box bound to state.text, see textbox.js
// app.say(text)                 tells it to screen readers
// app.tokenizers()              the list of tokenizers as the server has it; app.tokenizer() the entry in use
// app.onTokenizers(act)         calls when the list has changed

import { fromFragment, toFragment } from "./address.js";
import { JetonError, ask, askTokenizers, putTokenizer } from "./ask.js";
import { tokenCard } from "./card.js";
import { h, number } from "./dom.js";
import { drawTokens } from "./draw.js";
import { textBox } from "./textbox.js";
import { chooseTheme } from "./theme.js";
import { VIEWS } from "./views/index.js";

const $ = (id) => document.getElementById(id);
const SAVE_AFTER_MS = 300;

let tokenizers = [];
let open = null; // the id of the open view
const mounted = new Map(); // id → {root, view}, or a promise of it
const listeners = new Set();

const app = {
  state: {},
  set,
  ask: askAndLook,
  latest,
  draw: drawTokens,
  card: (tokenizer, id, options) => tokenCard(app, tokenizer, id, options),
  textBox: (options) => textBox(app, options),
  say: (text) => { $("live").textContent = text; },
  tokenizers: () => tokenizers,
  tokenizer: () => tokenizers.find((entry) => entry.key === app.state.tokenizer) ?? null,
  onTokenizers: (act) => { listeners.add(act); },
};

// ── the state and the address ──────────────────────────────────────────────────────────────────────────────────────

let saving = 0;

function set(changes) {
  const changed = Object.entries(changes).filter(([name, value]) => app.state[name] !== value);
  if (!changed.length) return;
  for (const [name, value] of changed) {
    if (value === undefined) delete app.state[name];
    else app.state[name] = value;
  }
  clearTimeout(saving);
  saving = setTimeout(save, SAVE_AFTER_MS);
  show();
}

async function save() {
  const { fragment } = await toFragment(notable());
  history.replaceState(null, "", `#${fragment}`);
}

async function readAddress() {
  const state = await fromFragment(location.hash);
  const known = (value, type, otherwise) => (typeof value === type ? value : otherwise);
  app.state = {
    ...state,
    view: VIEWS.some((view) => view.id === state.view) ? state.view : VIEWS[0].id,
    tokenizer: known(state.tokenizer, "string", tokenizers[0].key),
    text: known(state.text, "string", ""),
    special: known(state.special, "boolean", false),
    template: known(state.template, "boolean", false),
  };
  await show();
}

/** What the address holds: the state without what is so anyway. */
const notable = () => Object.fromEntries(Object.entries(app.state).filter(([, value]) => value !== false && value !== ""));

async function share() {
  const { fragment, whole } = await toFragment(notable());
  const url = `${location.origin}/#${fragment}`;
  history.replaceState(null, "", url);
  try {
    await navigator.clipboard.writeText(url);
  } catch {
    return notify("The address could not be copied; copy it from the address bar: it holds all that is shown.");
  }
  notify(
    whole
      ? "The address is copied. It holds all that is shown; the text stays behind its #, which no browser sends to a server."
      : "The address is copied without the text, which is too long for an address.",
  );
}

// ── views ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function makeTabs() {
  for (const { id, title } of VIEWS) {
    const properties = { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `view-${id}` };
    $("tabs").append(h("button", { ...properties, on: { click: () => set({ view: id }) } }, title));
    const panel = h("section", { role: "tabpanel", id: `view-${id}`, class: `view view-${id}`, "aria-labelledby": `tab-${id}`, hidden: true });
    $("main").append(panel);
  }
  $("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = VIEWS.findIndex((view) => view.id === app.state.view);
    const to = event.key === "Home" ? 0 : event.key === "End" ? VIEWS.length - 1 : step ? (at + step + VIEWS.length) % VIEWS.length : -1;
    if (to < 0) return;
    event.preventDefault();
    set({ view: VIEWS[to].id });
    $(`tab-${VIEWS[to].id}`).focus();
  });
}

/** Shows what the state says, on the view that it says. */
async function show() {
  const { view: id } = app.state;
  showPicker();
  if (id !== open) {
    if (open !== null) {
      const closed = open;
      $(`view-${closed}`).hidden = true;
      mounted.get(closed)?.then((view) => { if (open !== closed) view.hide(); }); // it may still be loading; the tabs do not wait
    }
    open = id;
    for (const view of VIEWS) {
      const tab = $(`tab-${view.id}`);
      tab.setAttribute("aria-selected", String(view.id === id));
      tab.tabIndex = view.id === id ? 0 : -1;
      if (view.id === id) $("tabs").scrollLeft = tab.offsetLeft - $("tabs").offsetLeft - 16; // where they do not fit in a row
    }
    const { title } = VIEWS.find((view) => view.id === id);
    document.title = `${title} · Jeton`;
    $(`view-${id}`).hidden = false;
    if (!mounted.has(id)) mounted.set(id, mount(id));
  }
  const view = await mounted.get(id);
  if (open === id) view.show(app.state);
}

async function mount(id) {
  const root = $(`view-${id}`);
  try {
    const { load } = VIEWS.find((view) => view.id === id);
    return (await load()).mount(root, app);
  } catch (error) {
    console.error(error);
    root.append(h("p", { class: "failure", role: "alert" }, "This view could not be loaded."));
    return { show() {}, hide() {} };
  }
}

// ── questions ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Asks, and looks at the list of tokenizers again where the question has loaded one. */
async function askAndLook(path, body, options) {
  const named = [body.tokenizer, ...(Array.isArray(body.tokenizers) ? body.tokenizers : [])];
  const fresh = tokenizers.some((entry) => named.includes(entry.key) && !entry.loaded && !entry.error);
  try {
    return await ask(path, body, options);
  } finally {
    if (fresh) readTokenizers();
  }
}

function latest() {
  let controller = null;
  return async (path, body) => {
    controller?.abort();
    const mine = (controller = new AbortController());
    try {
      const answer = await askAndLook(path, body, { signal: mine.signal });
      return mine.signal.aborted ? null : answer;
    } catch (error) {
      if (mine.signal.aborted) return null;
      throw error;
    }
  };
}

// ── tokenizers ─────────────────────────────────────────────────────────────────────────────────────────────────────

async function readTokenizers() {
  tokenizers = await askTokenizers();
  const groups = [
    ["Opened here", tokenizers.filter((entry) => entry.dropped)],
    ["On this machine", tokenizers.filter((entry) => !entry.dropped)],
  ].filter(([, entries]) => entries.length);
  const option = (entry) => h("option", { value: entry.key }, entry.error ? `${entry.name} (cannot be loaded)` : entry.name);
  $("tokenizer").replaceChildren(...groups.map(([label, entries]) => h("optgroup", { label }, ...entries.map(option))));
  showPicker();
  for (const act of listeners) act(tokenizers);
}

function showPicker() {
  const { picker } = VIEWS.find((view) => view.id === app.state.view) ?? {};
  $("picker").hidden = !picker;
  const select = $("tokenizer");
  const entry = app.tokenizer();
  const missing = select.querySelector("[data-missing]");
  if (entry) missing?.remove();
  else if (app.state.tokenizer !== undefined && !missing) {
    select.prepend(h("option", { value: app.state.tokenizer, data: { missing: "" } }, `${app.state.tokenizer} (not on this machine)`));
  }
  select.value = app.state.tokenizer;
  $("facts").textContent = entry ? facts(entry) : "";
  $("facts").classList.toggle("wrong", Boolean(entry?.error));
}

function facts(entry) {
  if (entry.error) return entry.error;
  if (!entry.loaded) return "";
  const special = entry.special_tokens ? ` · ${number(entry.special_tokens)} special` : "";
  return `${entry.kind} · ${number(entry.vocab_size)} ids${special}`;
}

async function openFiles(files) {
  for (const file of files) {
    try {
      if (file.size > 32 * 1024 * 1024) throw new JetonError(`${file.name} has more than 32 MB, which is the most that is opened.`);
      notify(`Opening ${file.name} …`);
      const entry = await putTokenizer(file);
      await readTokenizers();
      set({ tokenizer: entry.key });
      notify(`${entry.name} is open: ${facts(entry)}.`);
    } catch (error) {
      notify(`${file.name} cannot be opened. ${error.message}`, true);
    }
  }
}

function takeFiles() {
  $("choose").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => {
    openFiles([...$("file").files]);
    $("file").value = "";
  });
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    $("drop").hidden = false;
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").hidden = true; });
  addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    $("drop").hidden = true;
    openFiles([...event.dataTransfer.files]);
  });
}

// ── messages ───────────────────────────────────────────────────────────────────────────────────────────────────────

function notify(text, wrong = false) {
  const close = h("button", { type: "button", "aria-label": "Close the message", on: { click: () => { $("notice").hidden = true; } } }, "×");
  $("notice").replaceChildren(h("span", {}, text), close);
  $("notice").classList.toggle("wrong", wrong);
  $("notice").hidden = false;
}

async function start() {
  chooseTheme($("theme"));
  makeTabs();
  takeFiles();
  $("tokenizer").addEventListener("change", () => set({ tokenizer: $("tokenizer").value }));
  $("share").addEventListener("click", share);
  $("skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
  try {
    await readTokenizers();
  } catch (error) {
    return notify(error.message, true);
  }
  addEventListener("hashchange", readAddress);
  await readAddress();
  document.documentElement.dataset.ready = "";
}

start();
