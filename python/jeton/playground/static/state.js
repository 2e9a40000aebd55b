// State of the page, synchronized with the address and the session history.
//
// `text`, `tokenizer` and other shared keys have one meaning in all views. A view's own keys (`keys` in
// `views/index.js`) are in the state while it is open; those of other views are saved separately, so views may use equal
// names. The address has all of them: those of the open view by name, others as `view.name`.
//
// `set` replaces the current history entry (typing, sliders). `go` adds one, which the Back button leaves.

import { fromFragment, toFragment } from "./address.js";
import { loadValue, storeValue } from "./session_values.js";
import { VIEWS } from "./views/index.js";

const SAVE_AFTER_MS = 300;
const OWN = new Map(VIEWS.map((view) => [view.id, view.keys]));
const SHARED = new Set(VIEWS.flatMap((view) => view.shared));
const withoutDefaults = (pairs) => Object.fromEntries(pairs.filter(([, value]) => value !== false && value !== ""));
const isString = (value) => typeof value === "string";
const isFlag = (value) => typeof value === "boolean";

/**
 * @param {Object} options
 * @param {() => void} options.onChange  the state has changed, by a call or by Back and Forward
 * @param {(names: string[]) => void} options.onLost  the address lacks long values that are no longer stored
 * @param {(names: string[]) => void} options.onUnkept  long values exceed the storage, and do not survive a reload
 */
export function makeState({ onChange, onLost, onUnkept }) {
  const state = Object.create(null); // a link may name any key, `__proto__` too
  const aside = Object.fromEntries(VIEWS.map((view) => [view.id, {}])); // own keys of views that are not open
  let saving = 0; // timer of a change that is not in the address yet
  let writing = Promise.resolve(); // serializes writes to the history
  let reading = 0; // number of reads of the address; invalidates pending work of earlier ones

  function assign(target, changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined) delete target[name];
      else target[name] = value;
    }
  }

  function enter(view) {
    for (const name of OWN.get(state.view)) {
      if (Object.hasOwn(state, name)) aside[state.view][name] = state[name];
      delete state[name];
    }
    Object.assign(state, aside[view], { view });
    aside[view] = {};
  }

  /** Changes the state; returns false if nothing changes. */
  function change(changes) {
    if (changes.view !== undefined && changes.view !== state.view) enter(changes.view);
    else if (Object.entries(changes).every(([name, value]) => state[name] === value)) return false;
    if (changes.tokenizer !== undefined && changes.tokenizer !== state.tokenizer) {
      for (const { id, tokenizerKeys = [] } of VIEWS) for (const name of tokenizerKeys) delete (id === state.view ? state : aside[id])[name];
    }
    assign(state, changes);
    return true;
  }

  function set(changes) {
    if (!change(changes)) return;
    clearTimeout(saving);
    saving = setTimeout(save, SAVE_AFTER_MS);
    onChange();
  }

  function go(changes) {
    if (saving) save(); // pending input belongs to the current entry
    if (!change(changes)) return;
    write("pushState");
    onChange();
  }

  function save() {
    clearTimeout(saving);
    saving = 0;
    write("replaceState");
  }

  /** The state to write to the address, without default values. */
  function whole() {
    const others = VIEWS.flatMap(({ id }) => Object.entries(aside[id]).map(([name, value]) => [`${id}.${name}`, value]));
    return withoutDefaults([...Object.entries(state), ...others]);
  }

  function write(how) {
    const [all, read] = [whole(), reading];
    writing = writing.then(() => put(all, how, read)).catch(console.error);
    return writing;
  }

  async function put(all, how, read) {
    const { fragment, left } = await toFragment(all);
    const own = how === "replaceState" ? history.state?.own ?? {} : {};
    const entry = { held: {}, own: {} };
    const unkept = [];
    for (const name of left) {
      const { id, kept } = await storeValue(all[name], own[name]);
      entry.held[name] = id;
      if (id === own[name] || !Object.values(history.state?.held ?? {}).includes(id)) entry.own[name] = id;
      if (!kept) unkept.push(name);
    }
    if (read !== reading) return; // the user has navigated to another entry
    history[how](left.length ? entry : null, "", `#${fragment}`);
    if (unkept.length) onUnkept(unkept);
  }

  /**
   * Reads the state from the address and from the values stored for this history entry.
   *
   * @param {string} tokenizer  the tokenizer of an address without one
   * @param {string} sample  the text of an address without any state but the language
   */
  async function read(tokenizer, sample) {
    clearTimeout(saving);
    saving = 0;
    const mine = ++reading;
    const ids = history.state?.held ?? {};
    const { without, ...given } = await fromFragment(location.hash);
    const missing = [];
    for (const name of Array.isArray(without) ? without : []) {
      const value = Object.hasOwn(ids, name) ? await loadValue(ids[name]) : undefined;
      if (value === undefined) missing.push(String(name));
      else given[name] = value;
    }
    if (mine !== reading) return;
    const isFresh = location.hash.length < 2 || Object.keys(given).join() === "lang";
    replace(given, tokenizer, isFresh ? sample : "");
    onChange();
    if (missing.length) onLost(missing);
  }

  function replace(given, tokenizer, text) {
    const known = (name, is, otherwise) => (is(given[name]) ? given[name] : otherwise);
    for (const name of Object.keys(state)) delete state[name];
    for (const { id } of VIEWS) aside[id] = {};
    assign(state, given);
    state.view = OWN.has(given.view) ? given.view : VIEWS[0].id;
    state.tokenizer = known("tokenizer", isString, tokenizer);
    state.text = known("text", isString, text);
    state.special = known("special", isFlag, false);
    state.template = known("template", isFlag, false);
    for (const name of Object.keys(given)) {
      const [view, own] = name.split(".", 2);
      if (!OWN.get(view)?.includes(own)) continue;
      delete state[name];
      if (view !== state.view) aside[view][own] = given[name];
    }
  }

  /** What the open view uses of the state, without default values. */
  function used() {
    const { shared } = VIEWS.find((view) => view.id === state.view);
    const hasExample = isString(state.example);
    const isUsed = ([name]) => !SHARED.has(name) || (shared.includes(name) && !(hasExample && name === "text"));
    return withoutDefaults(Object.entries(state).filter(isUsed));
  }

  async function addressOf(part) {
    save();
    await writing;
    const { fragment, left } = await toFragment(part());
    return { url: `${location.href.split("#")[0]}#${fragment}`, left };
  }

  /** Saves the state and returns its address; `left`: names of values that are too long for it. */
  const address = () => addressOf(whole);

  /** As `address`, of what the open view uses. */
  const link = () => addressOf(used);

  return { state, set, go, read, address, link };
}
