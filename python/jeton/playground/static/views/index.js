// The views in the order of their tabs.
//
// picker         whether the view is about the one tokenizer that the page has chosen
// keys           the keys of the state that are this view's own; the others are shared by all views
// tokenizerKeys  those of its keys that say something about the chosen tokenizer, and nothing about another one

export const VIEWS = [
  { id: "tokens", title: "Tokens", picker: true, keys: ["list"], load: () => import("./tokens.js") },
  { id: "why", title: "Why", picker: true, keys: ["pretoken", "step"], load: () => import("./why.js") },
  { id: "train", title: "Train", picker: false, keys: ["size", "pattern", "ties", "level", "step"], load: () => import("./train.js") },
  { id: "compare", title: "Compare", picker: false, keys: ["compare", "sort", "language"], load: () => import("./compare.js") },
  { id: "chat", title: "Chat", picker: true, keys: ["messages", "chat_template", "prompt"], load: () => import("./chat.js") },
  { id: "vocabulary", title: "Vocabulary", picker: true, keys: ["find", "by", "kind", "from", "id"], tokenizerKeys: ["from", "id"], load: () => import("./vocabulary.js") },
  { id: "classics", title: "Classics", picker: false, keys: ["classic"], load: () => import("./classics.js") },
];
