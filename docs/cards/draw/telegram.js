// What a chat has in it, as a telephone shows it: messages with their entities and buttons, what a person wrote
// between them, and the field where the next reply is written. Nothing is read as markup: entities alone say how
// words are set, by offsets in UTF-16 units, which is how this language counts as well.
"use strict";

const BOT = "Gatepost";
const TIME = "14:02";

function made(name, className, ...inside) {
  const element = document.createElement(name);
  element.className = className;
  element.append(...inside.filter((one) => one !== null && one !== undefined));
  return element;
}

// ── words ─────────────────────────────────────────────────────────────────────────────────────

const quoted = (folded) => (inside) => {
  const quote = made("span", "quote folded", made("span", "inner", ...inside));
  if (!folded) quote.classList.remove("folded");
  return quote;
};

const SET = {
  bold: (inside) => made("b", "", ...inside),
  italic: (inside) => made("i", "", ...inside),
  code: (inside) => made("span", "code", ...inside),
  pre: (inside) => made("span", "pre", ...inside),
  text_mention: (inside) => made("span", "link", ...inside),
  blockquote: quoted(false),
  expandable_blockquote: quoted(true),
};
const COMMAND = /(?<![\w/])(\/[a-z0-9_]+)/; // what Telegram finds by itself in words that are not set as code
const PARAGRAPHS = new Set(["pre", "blockquote", "expandable_blockquote"]);

// The words from begin to end; *entities*: those within, outer ones first. A paragraph ends its line by itself.
function words(text, begin, end, entities) {
  const found = [];
  let at = begin;
  let after = false;
  const plain = (to, before) => {
    let some = text.slice(at, to);
    if (after && some.startsWith("\n")) some = some.slice(1);
    if (before && some.endsWith("\n")) some = some.slice(0, -1);
    found.push(...some.split(COMMAND).map((part, n) => (n % 2 ? made("span", "link", part) : part)));
  };
  for (let n = 0; n < entities.length; ) {
    const one = entities[n];
    const stop = one.offset + one.length;
    let m = n + 1;
    while (m < entities.length && entities[m].offset < stop) m += 1;
    const paragraph = PARAGRAPHS.has(one.type);
    if (one.offset > at) plain(one.offset, paragraph);
    if (!SET[one.type]) throw new Error(`cannot draw ${one.type}`);
    found.push(SET[one.type](words(text, one.offset, stop, entities.slice(n + 1, m))));
    at = stop;
    after = paragraph;
    n = m;
  }
  if (at < end) plain(end, false);
  return found;
}

const body = (message) =>
  made("div", "words", ...words(message.text, 0, message.text.length, message.entities ?? []), made("span", "room"));

// ── a message ─────────────────────────────────────────────────────────────────────────────────

const sender = (item) => item.from?.first_name ?? BOT;
const gist = (item) => (item.text ?? item.document.file_name).replace(/\s+/g, " ");

function replied(item) {
  const about = given[(item.reply_parameters?.message_id ?? 0) - 1];
  return about && made("div", "replied", made("div", "who", sender(about)), made("div", "", gist(about)));
}

function document_(item) {
  const { file_name: name, file_size: size } = item.document;
  const about = made("div", "", made("div", "name", name), made("div", "aside", `${(size / 1024).toFixed(1)} KB`));
  return made("div", "document", made("div", "icon", "↓"), about);
}

function key(button) {
  const kinds = ["key", button.style ?? "", button.url ? "opens" : ""];
  return made("div", kinds.join(" "), button.text);
}

function posted(item) {
  const keyboard = item.reply_markup?.inline_keyboard ?? [];
  const bubble = made(
    "div",
    "bubble",
    replied(item),
    item.document ? document_(item) : body(item),
    made("span", "time", TIME),
  );
  const keys = keyboard.map((row) => made("div", "keys", ...row.map(key)));
  const shown = made("div", keyboard.length ? "shown keyed" : "shown", bubble, ...keys);
  return made("div", item.from ? "row own" : "row", shown);
}

// ── what is around them ───────────────────────────────────────────────────────────────────────

function said(item) {
  if (!item.show_alert) return made("div", "toast", item.text);
  const title = made("div", "title", BOT);
  return made("div", "alert", title, made("div", "words", item.text), made("div", "ok", "OK"));
}

function writing(item) {
  const asked = made("div", "what", made("div", "who", `Reply to ${BOT}`), made("div", "aside", gist(item)));
  const top = made("div", "asked", made("span", "arrow", "↩"), asked, made("span", "cross", "✕"));
  return made("div", "writing", top, made("div", "field", item.reply_markup.input_field_placeholder || "Message"));
}

const given = JSON.parse(document.getElementById("given").textContent);
const root = document.getElementById("root");
for (const item of given) root.append(item.method === "answerCallbackQuery" ? said(item) : posted(item));
const last = given.at(-1);
if (last.reply_markup?.force_reply) root.append(writing(last));
// Read by tests/pictures.py, so that a picture is as high as what is in it.
document.documentElement.dataset.height = Math.ceil(root.getBoundingClientRect().height);
