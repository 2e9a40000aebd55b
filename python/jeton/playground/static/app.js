// Entry point of the page: tabs, tokenizer selection, state, and the interface of views.
//
// A view is a module `views/<id>.js`, listed in `views/index.js`, that exports
//
//     mount(root, app) → {show(state), hide(), exported()}
//
// `mount` is called once, when the view is first opened, with an empty <section>. `show` is called when the view is
// opened and after every change of the state while it is open, so it must be cheap if nothing relevant has changed;
// `hide` is called when another view opens; `exported` returns what can be copied and saved of it, see exports.js. A view modifies only its root, inserts text as text (`h` of `dom.js`),
// displays errors with `failure` of `dom.js`, and may add rules to `views.css` under its own class.
//
// app.state                     the state in the address: view, tokenizer, text, special, template, and keys of views
//                               (any JSON; setting a key to undefined removes it). Read-only; change it with `set`.
//                               A view's own keys are listed in `views/index.js`.
// app.sample                    the text of a page that is opened without an address of its own
// app.set(changes)              changes the state, the address and the open view
// app.go(changes)               as `set`, with a new history entry that the Back button undoes
// app.ask(path, body, options)  calls an API endpoint; throws a JetonError with a message for the user. If the server
//                               is not reachable, waits and retries, unless `wait` is false
// app.latest()                  returns a function like `ask` for one kind of request: a new request aborts the previous
//                               one, which then resolves to null
// app.draw(drawing, options)    tokens as an element, see draw.js
// app.card(tokenizer, id, options)  details of one token as an element, see card.js
// app.textBox(options)          a text box bound to state.text, see textbox.js
// app.say(text)                 announces text to screen readers
// app.tokenizers()              the server's list of tokenizers; app.tokenizer(): the selected entry
// app.onTokenizers(act)         registers a callback for changes of the list
// app.downloads()               vocabularies that can be downloaded, as far as `readDownloads` has read them
// app.download(name)            downloads one, and resolves to its key; null if that fails, which the page then says
// app.picker(options)           selection of a tokenizer, see picker.js

import { fromFragment } from "./address.js";
import { GONE, JetonError, ask, askTokenizers, isStatic, putTokenizers } from "./ask.js";
import { forgetCards, tokenCard } from "./card.js";
import { h, number } from "./dom.js";
import { drawTokens } from "./draw.js";
import { exportMenu } from "./exports.js";
import { LANGUAGES, chooseLanguage, counted, keepLanguage, language, message, say, translatePage } from "./language.js";
import { tokenizerPicker } from "./picker.js";
import { makeState } from "./state.js";
import { textBox } from "./textbox.js";
import { chooseTheme } from "./theme.js";
import { VIEWS } from "./views/index.js";

const $ = (id) => document.getElementById(id);
const FIRST_RETRY_MS = 500; // exponential backoff while the server is not reachable: from here …
const LAST_RETRY_MS = 4_000; // … up to here
const MOST_TRIES = 3; // to load the module of a view
const NOTICE_MS = 8_000; // how long a notice of a success is shown
const MOST_BYTES = 32 * 1024 * 1024; // of files opened together
// The text of a page that is opened without an address of its own
const SAMPLE = "strawberry: how many r's?\n今天的天气很好";

// Names of tokenizers that are messages; other names are those of files and models.
const BUILT_IN = new Set([message("default (ships with Jeton)"), message("lessons (trained here, on Jeton's teaching text)"), message("bytes (no merges: every byte is a token)")]);
let tokenizers = [];
let downloads = [];
let open = null; // the id of the open view
const mounted = new Map(); // id → {root, view}, or a promise of it
const listeners = new Set();

const { state, set, go, read, address, link } = makeState({ onChange: () => show(), onLost: lost, onUnkept: unkept });

const app = {
  state,
  sample: SAMPLE,
  set,
  go,
  ask: askAndRefresh,
  latest,
  draw: drawTokens,
  card: (tokenizer, id, options) => tokenCard(app, tokenizer, id, options),
  textBox: (options) => textBox(app, options),
  say: (text) => { $("live").textContent = text; },
  tokenizers: () => tokenizers,
  tokenizer: () => tokenizers.find((entry) => entry.key === app.state.tokenizer) ?? null,
  onTokenizers: (act) => { listeners.add(act); },
  downloads: () => downloads,
  readDownloads,
  download,
  picker: (options) => tokenizerPicker(app, options),
};
let picker = null; // of the tokenizer
let opened = null; // the open view

// ── sharing ────────────────────────────────────────────────────────────────────────────────────────────────────────

const KINDS = { text: message("text"), example: message("example"), messages: message("messages") };
const named = (names) => names.map((name) => name.replace(/^.*\./, "")).map((name) => say(KINDS[name] ?? name)).join(say(" and "));

async function share() {
  const { url, left } = await link();
  try {
    await navigator.clipboard.writeText(url);
  } catch {
    return notify(say("The address could not be copied. Copy it from the address bar; it contains the whole state."));
  }
  notifyBriefly(
    left.length
      ? say("The address is copied without the {names}, which is too long for an address.", { names: named(left) })
      : isStatic
        ? say("The address is copied. It contains the whole state; the part after #, with the text, is never sent to a server.")
        : say("Link copied. It opens only where Jeton runs (this machine); to show others, use Export → HTML file or PNG."),
  );
}

/** The address of the view, unless only this machine has it. */
const citable = async () => (["127.0.0.1", "localhost", ""].includes(location.hostname) ? undefined : (await link()).url);

function lost(names) {
  notify(say("The {names} was too long for this address, which does not contain it. Paste it again.", { names: named(names) }), true);
}

function unkept(names) {
  notify(say("The {names} is too long for the address and for the browser's storage: it will be lost when the page is reloaded.", { names: named(names) }), true);
}

// ── views ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function makeTabs() {
  for (const { id, title } of VIEWS) {
    const properties = { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `view-${id}` };
    $("tabs").append(h("button", { ...properties, on: { click: () => go({ view: id }) } }, say(title)));
    const panel = h("section", { role: "tabpanel", id: `view-${id}`, class: `view view-${id}`, "aria-labelledby": `tab-${id}`, hidden: true });
    $("main").append(panel);
  }
  $("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = VIEWS.findIndex((view) => view.id === app.state.view);
    const to = event.key === "Home" ? 0 : event.key === "End" ? VIEWS.length - 1 : step ? (at + step + VIEWS.length) % VIEWS.length : -1;
    if (to < 0) return;
    event.preventDefault();
    go({ view: VIEWS[to].id });
    $(`tab-${VIEWS[to].id}`).focus();
  });
}

/** Displays the state in its view. */
async function show() {
  const { view: id } = app.state;
  showPicker();
  if (id !== open) {
    if (open !== null) {
      endNotice();
      const closed = open;
      $(`view-${closed}`).hidden = true;
      mounted.get(closed)?.then((view) => { if (open !== closed) view.hide(); }); // not awaited: it may still be loading
    }
    open = id;
    for (const view of VIEWS) {
      const tab = $(`tab-${view.id}`);
      tab.setAttribute("aria-selected", String(view.id === id));
      tab.tabIndex = view.id === id ? 0 : -1;
      if (view.id === id) $("tabs").scrollLeft = tab.offsetLeft - $("tabs").offsetLeft - 16; // if the tabs overflow
    }
    const { title } = VIEWS.find((view) => view.id === id);
    document.title = `${say(title)} · Jeton`;
    $(`view-${id}`).hidden = false;
    if (!mounted.has(id)) mounted.set(id, mount(id));
  }
  const view = await mounted.get(id);
  if (open !== id) return;
  opened = view;
  view.show(app.state);
}

async function mount(id, tries = 0) {
  const root = $(`view-${id}`);
  try {
    const { load } = VIEWS.find((view) => view.id === id);
    return (await load()).mount(root, app);
  } catch (error) {
    if (!root.childElementCount && tries < MOST_TRIES) { // the module was not loaded: is the server gone?
      await answered(askTokenizers);
      return mount(id, tries + 1);
    }
    console.error(error);
    root.append(h("p", { class: "failure", role: "alert" }, say("This view could not be loaded.")));
    return { show() {}, hide() {} };
  }
}

// ── requests ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Calls an endpoint, and refreshes the list of tokenizers if the request has loaded one. */
async function askAndRefresh(path, body, { signal, wait = true } = {}) {
  const asked = [body.tokenizer, ...(Array.isArray(body.tokenizers) ? body.tokenizers : [])];
  const fresh = tokenizers.some((entry) => asked.includes(entry.key) && !entry.loaded && !entry.error);
  try {
    return await answered(() => ask(path, body, { signal }), wait);
  } finally {
    if (fresh) answered(readTokenizers).catch(() => {}); // the response itself has the error
  }
}

/** Awaits a request; while the server is not reachable, retries it. */
async function answered(request, wait = true) {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (error.kind !== GONE || !wait) throw error;
      await (back ??= whenBack());
    }
  }
}

let back = null; // a promise while the server is not reachable

/** Resolves when the server is reachable again; it may have been restarted with other tokenizers. */
async function whenBack() {
  const command = location.port === "7777" ? "jeton play" : `jeton play --port ${location.port}`;
  notify(say("The playground does not respond. Was it stopped in the terminal? Restart it with {command}; this page then continues by itself.", { command }), true);
  const said = $("notice").firstChild;
  for (let pause = FIRST_RETRY_MS, isGone = true; isGone; pause = Math.min(2 * pause, LAST_RETRY_MS)) {
    await new Promise((done) => setTimeout(done, pause));
    isGone = await askTokenizers().then(() => false, (error) => error.kind === GONE);
  }
  back = null;
  forgetCards();
  if (said.isConnected) $("notice").hidden = true;
  app.say(say("The playground responds again."));
  readTokenizers().catch(() => {}); // the retried request reports errors
}

function latest() {
  let controller = null;
  return async (path, body) => {
    controller?.abort();
    const mine = (controller = new AbortController());
    try {
      const answer = await askAndRefresh(path, body, { signal: mine.signal });
      return mine.signal.aborted ? null : answer;
    } catch (error) {
      if (mine.signal.aborted) return null;
      throw error;
    }
  };
}

// ── tokenizers ─────────────────────────────────────────────────────────────────────────────────────────────────────

async function readTokenizers() {
  tokenizers = (await askTokenizers()).map((entry) => (BUILT_IN.has(entry.name) && !entry.dropped ? { ...entry, name: say(entry.name) } : entry));
  showPicker();
  for (const act of listeners) act(tokenizers);
}

function showPicker() {
  const { picker: isUsed } = VIEWS.find((view) => view.id === app.state.view) ?? {};
  $("picker").hidden = !isUsed;
  picker.show(app.state.tokenizer);
  const entry = app.tokenizer();
  $("facts").textContent = entry ? facts(entry) : "";
  $("facts").classList.toggle("wrong", Boolean(entry?.error));
}

/** The pickers of the page's head: of the tokenizer, and of another one to compare it with. */
function makePickers() {
  picker = app.picker({ label: say("Tokenizer"), onChoose: (key) => go({ tokenizer: key }) });
  const other = app.picker({
    label: say("Compare with"),
    placeholder: say("Model or vocabulary"),
    without: () => [app.state.tokenizer],
    onChoose: (key) => go({ view: "compare", compare: [app.state.tokenizer, key] }),
  });
  $("tokenizer").append(picker);
  $("other").append(other);
  const show = (isOpen) => {
    $("other").hidden = !isOpen;
    $("compare").hidden = isOpen;
  };
  $("compare").addEventListener("click", () => { show(true); other.open(); });
  other.input.addEventListener("blur", () => show(false));
}

function facts(entry) {
  if (entry.error) return entry.error;
  if (!entry.loaded) return "";
  const size = say("{number} ids", { number: number(entry.vocab_size) });
  const special = entry.special_tokens ? [say("{number} special", { number: number(entry.special_tokens) })] : [];
  return [entry.kind, size, ...special].join(" · ");
}

/** Reads the list of vocabularies that can be downloaded; without a server, it stays as it is. */
async function readDownloads() {
  ({ downloads } = await ask("download", {}).catch(() => ({ downloads })));
}

/** Downloads a vocabulary; returns its key, or null if that fails. */
async function download(name) {
  notify(say("Downloading {name} …", { name }));
  try {
    const { entry } = await ask("download", { name });
    await Promise.all([readTokenizers(), readDownloads()]);
    notifyBriefly(say("{name} is on this machine: {facts}.", { name, facts: facts(entry) }));
    return entry.key;
  } catch (error) {
    notify(say("{name} cannot be downloaded. {error}", { name, error: error.message }), true);
    return null;
  }
}

/** Uploads files, which form one or more tokenizers. */
async function openFiles(files) {
  const names = files.length === 1 ? files[0].name : counted(files.length, "file");
  try {
    const large = files.find((file) => file.size > MOST_BYTES);
    if (large) throw new JetonError(say("{name} has more than 32 MB, the limit for files.", { name: large.name }));
    if (files.reduce((sum, file) => sum + file.size, 0) > MOST_BYTES) throw new JetonError(say("Together they have more than 32 MB, the limit for files opened together."));
    notify(say("Opening {names} …", { names }));
    for (const file of files) await file.slice(0, 1).arrayBuffer().catch(() => { throw new JetonError(say("{name} cannot be read. To open a folder, choose its files.", { name: file.name })); });
    const { entries, errors } = await putTokenizers(files);
    await readTokenizers();
    if (entries.length) go({ tokenizer: entries.at(-1).key });
    const opened = entries.map((entry) => say("{name} is open: {facts}.", { name: entry.name, facts: facts(entry) }));
    if (!errors.length) return notifyBriefly(opened.join("\n"));
    notify([...opened, ...errors.map(({ name, error }) => say("{name} cannot be opened. {error}", { name, error }))].join("\n"), true);
  } catch (error) {
    notify(say("{name} cannot be opened. {error}", { name: names, error: error.message }), true);
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

let ending = 0; // timer of a notice that is shown briefly

/** Shows a notice until the user closes it, or until the next one. */
function notify(text, wrong = false) {
  clearTimeout(ending);
  ending = 0;
  const close = h("button", { type: "button", "aria-label": say("Close the message"), on: { click: () => { $("notice").hidden = true; } } }, "×");
  $("notice").replaceChildren(h("span", {}, text), close);
  $("notice").classList.toggle("wrong", wrong);
  $("notice").hidden = false;
}

/** Shows a notice until the next action of the user, and not for longer than `NOTICE_MS` unless it is pointed at. */
function notifyBriefly(text) {
  notify(text);
  const end = () => {
    if ($("notice").matches(":hover, :focus-within")) ending = setTimeout(end, NOTICE_MS);
    else endNotice();
  };
  ending = setTimeout(end, NOTICE_MS);
}

/** Hides a notice that is shown briefly. */
function endNotice() {
  if (!ending) return;
  clearTimeout(ending);
  ending = 0;
  $("notice").hidden = true;
}

function endNotices() {
  addEventListener("pointerdown", (event) => { if (!$("notice").contains(event.target)) endNotice(); });
  addEventListener("input", endNotice);
}

// ── language ───────────────────────────────────────────────────────────────────────────────────────────────────────

function makeLanguages() {
  const select = $("language");
  select.append(...Object.entries(LANGUAGES).map(([value, name]) => h("option", { value, lang: value }, name)));
  select.value = language();
  select.addEventListener("change", async () => {
    keepLanguage(select.value);
    set({ lang: select.value });
    await address(); // writes the state to the address, which the reloaded page reads
    location.reload();
  });
}

async function start() {
  await chooseLanguage((await fromFragment(location.hash)).lang);
  translatePage();
  if (isStatic) $("privacy").textContent = say("All computation is in your browser; nothing that you type or open leaves this page. Drop a tokenizer file anywhere to open it.");
  chooseTheme($("theme"));
  makeLanguages();
  makeTabs();
  takeFiles();
  endNotices();
  makePickers();
  $("share").addEventListener("click", share);
  $("export").replaceWith(exportMenu(app, { share, citable, notify, current: () => opened?.exported?.() ?? null }));
  $("skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
  addEventListener("keydown", closeCard);
  try {
    await answered(readTokenizers);
  } catch (error) {
    return notify(error.message, true);
  }
  addEventListener("popstate", () => read(tokenizers[0].key, SAMPLE)); // Back, Forward, and an edited address
  const isFresh = location.hash.length < 2;
  await read(tokenizers[0].key, SAMPLE);
  await mounted.get(open); // the page is ready when its view is
  if (isFresh) beginTyping($(`view-${open}`).querySelector("textarea"));
  document.documentElement.dataset.ready = "";
}

/** Focuses a text box, with the sample selected: typing replaces it. */
function beginTyping(area) {
  area?.focus();
  if (area?.value === SAMPLE) area.select();
}

/** Closes the card of a pinned token on Escape, wherever the focus is. */
function closeCard(event) {
  if (event.key !== "Escape" || event.defaultPrevented || event.target.matches?.("select, input[type=search]")) return;
  document.querySelector(".view:not([hidden]) .card .close")?.click();
}

start();
