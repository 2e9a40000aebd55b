// The state of the page: what it shows, in its address and in the history of the tab.
//
// `text`, `tokenizer` and other shared keys mean the same in every view. A view's own keys (`keys` in `views/index.js`)
// are in the state while it is open; those of the other views are kept aside, so two views may use the same name. The
// address has all of them: the open view's by their names, others as `view.name`.
//
// What a person types or slides replaces the current entry of the history (`set`). What opens something is an entry of
// its own, which the Back button leaves (`go`).

import { fromFragment, toFragment } from "./address.js";
import { loadValue, storeValue } from "./session_values.js";
import { VIEWS } from "./views/index.js";

const SAVE_AFTER_MS = 300;
const OWN = new Map(VIEWS.map((view) => [view.id, view.keys]));
const isString = (value) => typeof value === "string";
const isFlag = (value) => typeof value === "boolean";

/**
 * @param {Object} options
 * @param {() => void} options.onChange  the state has changed, by a call or by the browser's buttons
 * @param {(names: string[]) => void} options.onLost  the address lacks long values that are not kept anymore
 * @param {(names: string[]) => void} options.onUnkept  long values are not kept over a reload: there is no room
 */
export function makeState({ onChange, onLost, onUnkept }) {
  const state = Object.create(null); // a link may name any key, `__proto__` too
  const aside = Object.fromEntries(VIEWS.map((view) => [view.id, {}])); // own keys of views that are not open
  let saving = 0; // the timer of a change that is not in the address yet
  let writing = Promise.resolve(); // changes reach the history in their order
  let reading = 0; // counts how often the address was read: what waited for an older one is void

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

  /** Changes the state; false: nothing is new. */
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
    if (saving) save(); // what was typed a moment ago belongs to the entry that is left
    if (!change(changes)) return;
    write("pushState");
    onChange();
  }

  function save() {
    clearTimeout(saving);
    saving = 0;
    write("replaceState");
  }

  /** What the address holds: the state without what is so anyway. */
  function whole() {
    const others = VIEWS.flatMap(({ id }) => Object.entries(aside[id]).map(([name, value]) => [`${id}.${name}`, value]));
    return Object.fromEntries([...Object.entries(state), ...others].filter(([, value]) => value !== false && value !== ""));
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
    if (read !== reading) return; // the browser has gone to another entry
    history[how](left.length ? entry : null, "", `#${fragment}`);
    if (unkept.length) onUnkept(unkept);
  }

  /** Takes the state from the address and from what is kept for this entry of the history. */
  async function read(tokenizer) {
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
    replace(given, tokenizer);
    onChange();
    if (missing.length) onLost(missing);
  }

  function replace(given, tokenizer) {
    const known = (name, is, otherwise) => (is(given[name]) ? given[name] : otherwise);
    for (const name of Object.keys(state)) delete state[name];
    for (const { id } of VIEWS) aside[id] = {};
    assign(state, given);
    state.view = OWN.has(given.view) ? given.view : VIEWS[0].id;
    state.tokenizer = known("tokenizer", isString, tokenizer);
    state.text = known("text", isString, "");
    state.special = known("special", isFlag, false);
    state.template = known("template", isFlag, false);
    for (const name of Object.keys(given)) {
      const [view, own] = name.split(".", 2);
      if (!OWN.get(view)?.includes(own)) continue;
      delete state[name];
      if (view !== state.view) aside[view][own] = given[name];
    }
  }

  /** The address of all that is shown, which is in the address bar then too; left: what it was too short for. */
  async function address() {
    save();
    await writing;
    const { fragment, left } = await toFragment(whole());
    return { url: `${location.origin}/#${fragment}`, left };
  }

  return { state, set, go, read, address };
}
