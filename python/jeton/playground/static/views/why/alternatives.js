// Alternatives of pre-tokenization patterns in words: those of GPT-2, cl100k, Llama 3, Qwen, o200k and simple ones.
//
// Left out: a possessive quantifier, such as `++`, is described as the greedy one: they match the same where one of these
// patterns is used. Regexes that are not in the table have no words.

import { message, say } from "../../language.js";

const WORDS = new Map(Object.entries({
  "'(?:[sdmt]|ll|ve|re)": message("an English ending after an apostrophe, in small letters: 's, 'd, 'm, 't, 'll, 've or 're"),
  "'(?i:[sdmt]|ll|ve|re)": message("an English ending after an apostrophe: 's, 'd, 'm, 't, 'll, 've or 're"),
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)": message("an English ending after an apostrophe: 's, 'd, 'm, 't, 'll, 've or 're"),
  "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])": message("an English ending after an apostrophe: 's, 'd, 'm, 't, 'll, 've or 're"),
  " ?\\p{L}+": message("letters in a row, with one space before them if there is one"),
  " ?\\p{N}+": message("digits in a row, with one space before them if there is one"),
  "\\p{N}{1,3}": message("one to three digits"),
  "\\p{N}": message("a single digit"),
  "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+": message("letters in a row, with the character before them if it is a space or a sign"),
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+": message("letters and their marks in a row, with the character before them if it is a space or a sign"),
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?": message("capital letters, if any, then small letters or letters without case, with the character before them if it is a space or a sign, and an ending such as 's"),
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?": message("capital letters in a row, with the character before them if it is a space or a sign, and an ending such as 's"),
  " ?[^\\s\\p{L}\\p{N}]+": message("signs in a row (neither letters nor digits nor white space), with one space before them if there is one"),
  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*": message("signs in a row (neither letters nor digits nor white space), with one space before them if there is one, and the line breaks after them"),
  " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*": message("signs in a row (neither letters nor digits nor white space), with one space before them if there is one, and the line breaks after them"),
  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*": message("signs in a row (neither letters nor digits nor white space), with one space before them if there is one, and the line breaks and slashes after them"),
  "\\s*[\\r\\n]": message("white space up to its last line break"),
  "\\s*[\\r\\n]+": message("white space up to its last line break"),
  "\\s+$": message("white space at the end of the text"),
  "\\s+(?!\\S)": message("white space in a row, without its last character if a word or a sign follows"),
  "\\s+": message("white space in a row"),
  "\\s": message("one character of white space"),
  "\\S+": message("everything up to the next white space"),
}));

/** The words of an alternative in the language of the page, or null. */
export function alternativeWords(regex) {
  const words = WORDS.get(regex.replace(/(\{\d+(?:,\d*)?\}|[*+?])\+/g, "$1"));
  return words === undefined ? null : say(words);
}
