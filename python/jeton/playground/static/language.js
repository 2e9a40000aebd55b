// Language of the page: messages by the catalogs of the command line, which map English messages to another language.
//
// The language is that of the address (`lang`), else the one chosen before, else the browser's. It is chosen before the
// views are loaded and does not change afterwards; another choice reloads the page.

import { askStrings } from "./ask.js";
import { number } from "./dom.js";

/** Language → its own name. */
export const LANGUAGES = { en: "English", zh: "中文" };

const KEY = "jeton-language";
let chosen = "en";
let catalog = {};

/** The language of the page: "en" or "zh". */
export const language = () => chosen;

/**
 * Chooses the language and reads its catalog; without the catalog the page is English.
 *
 * @param {*} asked  the language in the address
 */
export async function chooseLanguage(asked) {
  const wanted = [asked, localStorage.getItem(KEY), ...navigator.languages].map((name) => String(name ?? "").split("-")[0]);
  chosen = wanted.find((name) => Object.hasOwn(LANGUAGES, name)) ?? "en";
  if (chosen !== "en") catalog = await askStrings(chosen).catch(() => { chosen = "en"; return {}; });
  document.documentElement.lang = { zh: "zh-Hans" }[chosen] ?? chosen;
}

/** Remembers a language for pages whose address names none. */
export const keepLanguage = (name) => localStorage.setItem(KEY, name);

/** Marks a message of a table, which `say` translates where it is displayed. */
export const message = (text) => text;

/**
 * A message in the language of the page: `say("{name} needs the fewest tokens", {name})`.
 *
 * @param {string} message  the English message, a key of the catalogs: one literal, in double quotes
 * @param {Object<string, *>} [values]  placeholder → value
 * @returns {string}
 */
export function say(message, values = {}) {
  return translated(message).replace(/\{(\w+)\}/g, (all, name) => (Object.hasOwn(values, name) ? String(values[name]) : all));
}

/** As `say`, for values that are elements: the texts and values in the order of the translation. */
export function sayNodes(message, values) {
  return translated(message).split(/\{(\w+)\}/).map((part, index) => (index % 2 ? values[part] : part));
}

/** What joins two sentences: nothing in Chinese, whose full stop is as wide as a character. */
export const gap = () => (chosen === "zh" ? "" : " ");

const translated = (message) => (Object.hasOwn(catalog, message) ? catalog[message] : message);

/** "1 token", "2,000 tokens": two messages, `{number} token` and `{number} tokens`. */
export function counted(value, noun) {
  const plural = noun === "entry" ? "entries" : `${noun}s`;
  return say(`{number} ${value === 1 ? noun : plural}`, { number: number(value) });
}

/** Translates the texts and labels of the document that the server sent. */
export function translatePage() {
  if (chosen === "en") return;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const words = node.data.trim();
    if (words) node.data = node.data.replace(words, () => say(words));
  }
  for (const name of ["aria-label", "title", "placeholder"]) {
    for (const element of document.body.querySelectorAll(`[${name}]`)) element.setAttribute(name, say(element.getAttribute(name)));
  }
}
