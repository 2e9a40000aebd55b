// The views in the order of their tabs. `picker`: whether the view is about the one tokenizer that the page has chosen.

export const VIEWS = [
  { id: "tokens", title: "Tokens", picker: true, load: () => import("./tokens.js") },
  { id: "why", title: "Why", picker: true, load: () => import("./why.js") },
  { id: "train", title: "Train", picker: false, load: () => import("./train.js") },
  { id: "compare", title: "Compare", picker: false, load: () => import("./compare.js") },
  { id: "chat", title: "Chat", picker: true, load: () => import("./chat.js") },
  { id: "vocabulary", title: "Vocabulary", picker: true, load: () => import("./vocabulary.js") },
  { id: "classics", title: "Classics", picker: false, load: () => import("./classics.js") },
];
