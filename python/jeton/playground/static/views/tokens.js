// Tokens: what a text is cut into, as one types.

import { counted, failure, h, number } from "../dom.js";

export function mount(root, app) {
  const ask = app.latest();
  const box = app.textBox({ label: "Text" });
  const pane = h("div", { class: "pane" });
  const counts = h("p", { class: "counts" });
  root.append(box, counts, pane);

  let asked = null;

  async function look(state) {
    const { tokenizer, text, special, template } = state;
    const question = JSON.stringify([tokenizer, special, template]);
    if (asked?.question === question && asked.text === text) return;
    asked = { question, text };
    try {
      const answer = await ask("tokens", { tokenizer, text, special, template });
      if (answer === null) return;
      counts.textContent = `${counted(answer.num_tokens, "token")} · ${counted(answer.num_bytes, "byte")}`;
      pane.replaceChildren(app.draw(answer.drawing, { label: "Tokens" }));
    } catch (error) {
      pane.replaceChildren(failure(error));
    }
  }

  return {
    show(state) {
      box.show(state);
      look(state);
    },
    hide() {},
  };
}
