// Picker of a tokenizer: a combobox of those at hand, found by their name or by a model that uses them, and of
// those that can be downloaded, with their size.

import { isStatic } from "./ask.js";
import { combobox } from "./combobox.js";
import { say } from "./language.js";

const missing = (name) => (isStatic ? say("{name} (not on this page)", { name }) : say("{name} (not on this machine)", { name }));
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/**
 * @param {Object} app
 * @param {Object} options
 * @param {string} options.label
 * @param {string} [options.placeholder]
 * @param {() => string[]} [options.without]  keys that are not offered
 * @param {(key: string) => void} options.onChoose  called with a tokenizer of the list, downloaded if need be
 * @returns {HTMLElement} a combobox, with `show(key)`
 */
export function tokenizerPicker(app, { label, placeholder, without = () => [], onChoose }) {
  const place = isStatic ? say("On this page") : say("On this machine");
  const options = () => {
    const left = new Set(without());
    const here = app.tokenizers().filter(({ key }) => !left.has(key)).map(({ key, name, models = [], error, dropped, loaded, bytes }) => ({
      value: key,
      name,
      words: models,
      note: error ? say("cannot be loaded") : bytes && !loaded ? megabytes(bytes) : "", // of a site without a server
      group: dropped ? say("Opened here") : place,
    }));
    const elsewhere = app.downloads().map(({ name, bytes, host, models = [] }) => ({
      name: name.replace(/^hf:/, ""),
      words: models,
      note: bytes ? megabytes(bytes) : host,
      group: say("To download from its publisher"),
      value: name,
      isDownload: true,
    }));
    return [...here.filter(({ group }) => group === say("Opened here")), ...here.filter(({ group }) => group !== say("Opened here")), ...elsewhere];
  };
  const box = combobox({
    label,
    placeholder,
    options,
    onChoose: async ({ value, isDownload }) => {
      const key = isDownload ? await app.download(value) : value;
      if (key !== null) onChoose(key);
    },
  });
  const showName = box.show;
  box.show = (key) => {
    const entry = app.tokenizers().find((other) => other.key === key);
    showName(entry ? entry.name : key === undefined ? "" : missing(key));
  };
  box.input.addEventListener("focus", () => app.readDownloads().then(box.refresh));
  return box;
}
