// Why: the steps from a text to its tokens.

import { h } from "../dom.js";

export function mount(root, app) {
  const box = app.textBox({ label: "Text" });
  root.append(box, h("div", { class: "pane" }));
  return {
    show(state) { box.show(state); },
    hide() {},
  };
}
