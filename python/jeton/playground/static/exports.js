// Export of tokens: as SVG, PNG and JSON.

import { h } from "./dom.js";
import { say } from "./language.js";

const SHARP = 2; // scale of the PNG
const MAX_PIXELS = 16_000; // per side; the limit of canvases in browsers

/**
 * Creates the export buttons.
 *
 * @param {Object} app
 * @param {() => Object|null} current  the response of `tokens` with its request; null: nothing to export
 */
export function exports(app, current) {
  const status = h("span", { class: "status", role: "status" });
  const act = (save) => async () => {
    const answer = current();
    status.textContent = "";
    if (!answer) return;
    try {
      await save(app, answer);
    } catch (error) {
      status.textContent = error.message;
    }
  };
  const button = (label, save) => h("button", { type: "button", on: { click: act(save) } }, label);
  return h("div", { class: "saves", role: "group", "aria-label": say("Save as") }, h("span", { "aria-hidden": "true" }, say("Save as")), button("SVG", saveSvg), button("PNG", savePng), button("JSON", saveJson), status);
}

async function saveSvg(app, answer) {
  download("tokens.svg", new Blob([await picture(app, answer)], { type: "image/svg+xml" }));
}

async function savePng(app, answer) {
  const url = URL.createObjectURL(new Blob([await picture(app, answer)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const scale = Math.min(SHARP, MAX_PIXELS / image.naturalWidth, MAX_PIXELS / image.naturalHeight);
    const canvas = h("canvas", { width: Math.round(image.naturalWidth * scale), height: Math.round(image.naturalHeight * scale) });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    download("tokens.png", await new Promise((done) => canvas.toBlob(done, "image/png")));
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function saveJson(_app, { drawing, entry, tokenizer, text, special, template, num_tokens, num_bytes, num_chars }) {
  const tokens = drawing.ids.map((id, index) => ({
    id,
    bytes_hex: drawing.table[drawing.looks[index]].hex,
    byte_span: [drawing.byte_starts[index], drawing.byte_ends[index]],
    char_span: [drawing.char_starts[index], drawing.char_ends[index]],
    group: drawing.groups[index],
  }));
  const data = { tokenizer: entry?.name ?? tokenizer, text, special, template, num_tokens, num_bytes, num_chars, tokens };
  download("tokens.json", new Blob([JSON.stringify(data, null, 1)], { type: "application/json" }));
}

const picture = async (app, { tokenizer, text, special, template }) => (await app.ask("picture", { tokenizer, text, special, template }, { wait: false })).svg;

/** Downloads a file. */
function download(name, blob) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
