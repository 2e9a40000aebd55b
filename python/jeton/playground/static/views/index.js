// The views in the order of their tabs.
//
// The key `example` is the text of an example, which its view displays in place of the text that all views share.
//
// picker         whether the view uses the tokenizer selected at the top of the page
// shared         keys of the state that it uses and other views too; a link to the view has only these, and its own
// keys           state keys of this view; all other keys are shared by all views
// tokenizerKeys  those of its keys that are reset when another tokenizer is selected

import { message } from "../language.js";

export const VIEWS = [
  { id: "tokens", title: message("Tokens"), picker: true, shared: ["tokenizer", "text", "special", "template"], keys: ["list", "token"], tokenizerKeys: ["token"], load: () => import("./tokens.js") },
  { id: "why", title: message("Why"), picker: true, shared: ["tokenizer", "text", "special"], keys: ["pretoken", "step", "example"], load: () => import("./why.js") },
  { id: "train", title: message("Train"), picker: false, shared: ["text"], keys: ["algorithm", "size", "pattern", "ties", "level", "step", "example"], load: () => import("./train.js") },
  { id: "compare", title: message("Compare"), picker: false, shared: ["tokenizer", "text", "special"], keys: ["compare", "sort", "language", "figures", "example"], load: () => import("./compare.js") },
  { id: "chat", title: message("Chat"), picker: true, shared: ["tokenizer", "special"], keys: ["messages", "chat_template", "prompt"], load: () => import("./chat.js") },
  { id: "vocabulary", title: message("Vocabulary"), picker: true, shared: ["tokenizer"], keys: ["find", "by", "kind", "from", "id"], tokenizerKeys: ["from", "id"], load: () => import("./vocabulary.js") },
  { id: "classics", title: message("Classics"), picker: false, shared: [], keys: ["classic"], load: () => import("./classics.js") },
];
