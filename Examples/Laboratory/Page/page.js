"use strict";
const $ = name => document.getElementById(name);
const examples = JSON.parse($("examples").textContent);
let laboratory = null;

// What a part of the bytes is, in words.
const PARTS = {
  "head": "Head", "interim-head": "Head of an interim response", "unfinished-head": "A head without its end",
  "content": "Content", "chunk": "Sizes of chunks, and line ends", "last-chunk": "The last chunk and the trailers",
  "rest": "After the end of the message", "fault": "Here the client stops", "unread": "Not read any more",
};
// As much of a part is shown, and as many parts.
const MOST = 2000, MOST_PARTS = 400;
// No more letters of the editor are read, and they stand for no more bytes.
const MOST_LETTERS = 2e5, MOST_BYTES = 4e6;

async function load() {
  const bytes = Uint8Array.from(atob($("module").textContent), letter => letter.charCodeAt(0));
  return (await WebAssembly.instantiate(bytes, {})).instance.exports;
}

// The verdict on bytes under circumstances, as the parser writes it.
function verdict(circumstances, bytes) {
  const line = new TextEncoder().encode(circumstances + "\n");
  const input = laboratory.laboratory_allocate(line.length + bytes.length);
  // The memory may have grown, and then the old view is gone: each is made when it is needed.
  new Uint8Array(laboratory.memory.buffer, input).set(line);
  new Uint8Array(laboratory.memory.buffer, input + line.length).set(bytes);
  const result = laboratory.laboratory_message(input, line.length + bytes.length);
  const length = new DataView(laboratory.memory.buffer).getUint32(result, true);
  const text = new TextDecoder().decode(new Uint8Array(laboratory.memory.buffer, result + 4, length));
  laboratory.laboratory_release(input);
  laboratory.laboratory_release(result);
  return text;
}

// The bytes of a text of the editor, and no more of them than `most`.
function bytesOf(text, most = MOST_BYTES) {
  const parts = [], encoder = new TextEncoder();
  const pattern = /\\(r|n|t|\\|x[0-9a-fA-F]{2}|\{(\d{1,6}) ((?:[^}\\]|\\[^{])*)\})|\n|[^\\\n]+|\\/g;
  let size = 0;
  for (const [whole, escape, count, repeated] of text.slice(0, MOST_LETTERS).matchAll(pattern)) {
    if (size >= most) break;
    let bytes;
    if (whole === "\n") continue;
    else if (escape === undefined) bytes = encoder.encode(whole);
    else if (count !== undefined) {
      const unit = bytesOf(repeated), times = Math.min(Number(count), Math.floor((most - size) / Math.max(1, unit.length)));
      bytes = new Uint8Array(unit.length * times);
      for (let index = 0; index < times; index++) bytes.set(unit, index * unit.length);
    } else bytes = Uint8Array.of(escape[0] === "x" ? parseInt(escape.slice(1), 16) : {r: 13, n: 10, t: 9, "\\": 92}[escape]);
    parts.push(bytes);
    size += bytes.length;
  }
  const all = new Uint8Array(size);
  let place = 0;
  for (const part of parts) { all.set(part, place); place += part.length; }
  return all;
}

function circumstances() {
  const words = ["method=" + $("method").value];
  if ($("close").checked) words.push("close=yes");
  if ($("asked").checked) words.push("request-close=yes");
  if ($("resumes").checked) {
    words.push(`have=${digits("offset") || 0}/${digits("total") || "*"}`, "if-match=" + $("condition").value);
    words.push("validator=" + $("validator").value.replace(/\n/g, " "));
  }
  return words.join(" ");
}

const digits = name => $(name).value.replace(/\D/g, "");

// The lines of a verdict, each as its words.
const parse = text => text.split("\n").slice(0, -1).map(line => line.split("\t").map(unescaped));
const unescaped = word => word.replace(/\\x([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)));

function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}

function update() {
  if (!laboratory) return;
  const bytes = bytesOf($("text").value), known = circumstances();
  const start = performance.now();
  const text = verdict(known, bytes);
  const milliseconds = performance.now() - start;
  const lines = parse(text);
  const all = name => lines.filter(line => line[0] === name);
  const first = name => all(name)[0];
  $("verdict").textContent = text;
  const isCut = $("text").value.length > MOST_LETTERS || bytes.length >= MOST_BYTES;
  $("time").textContent = `${bytes.length} bytes, read in ${milliseconds < 1 ? "less than 1" : Math.round(milliseconds)} ms.` +
    (isCut ? " What else there is in the editor is too long to be read here." : "");
  showCards(bytes, all, first);
  showBytes(bytes, all("part"));
  showFields(lines);
}

function showCards(bytes, all, first) {
  const error = first("error"), status = first("status"), end = first("end"), framing = first("framing");
  const head = first("part") && all("part").find(part => part[1] === "head");
  const cards = [];
  const card = (title, state, word, ...sentences) => cards.push({title, state, word, sentences: sentences.filter(Boolean)});
  const trouble = error ? error[1] : "";
  if (status) {
    card("Head", "yes", `${status[1]} ${status[2]}`.trim(),
      `${status[3]}, ${plural(all("field").length, "field")}, ${plural(head[3] - head[2], "byte")}` +
      (all("interim-status").length ? `, after ${plural(all("interim-status").length, "interim response")}` : "") + ".");
  } else {
    card("Head", error ? "no" : "open", error ? "Refused" : "Not complete", trouble || (end && end[2]));
  }
  if (status) {
    const count = Number((first("content") || [0, 0])[1]);
    const state = error ? "no" : end && end[1] === "open" ? "open" : "yes";
    const word = error ? "Broken" : state === "open" ? "Not complete" : framing[1] === "none" ? "None" : "Complete";
    card("Body", state, word, trouble, framing && framing[2],
      framing && framing[1] !== "none" && `${plural(count, "byte")} of content.`, !error && state === "open" && end[2]);
  }
  const reuse = first("reuse");
  if (reuse) card("Connection", reuse[1], reuse[1] === "yes" ? "Can be used again" : "Cannot be used again", reuse[2]);
  const rest = first("rest"), resume = all("resume"), ranges = all("range").map(range => range[2]);
  if (rest) {
    const good = ["continues", "complete"].includes(rest[1]);
    const words = {continues: "Appended", complete: "Complete already", replaces: "Starts over", repeats: "Asked again",
      unusable: "Not used", other: "Not the file"};
    card("The rest of the download", good ? "yes" : "no", words[rest[1]], rest[2], ...ranges);
  } else if (resume.length) {
    const can = resume[0][1] === "yes";
    card("A download cut here", can ? "yes" : "no", can ? "Could resume" : "Would start over",
      ...resume.map(line => line[2]), ...ranges);
  }
  $("cards").replaceChildren(...cards.map(({title, state, word, sentences}) => {
    const made = element("div", undefined, "card " + state);
    const line = element("p");
    line.append(element("span", (state === "yes" ? "✓ " : state === "no" ? "✗ " : "… ") + word, "word"));
    made.append(element("h3", title), line, ...sentences.map(sentence => element("p", sentence)));
    return made;
  }));
  // The most important first; one who only listens hears no more than this.
  const summary = cards.map(({title, word}) => `${title}: ${word}.`).join(" ");
  const said = trouble ? `${trouble} ${summary}` : summary;
  if ($("summary").textContent !== said) $("summary").textContent = said;
}

const plural = (count, noun) => `${count} ${noun}${Number(count) === 1 ? "" : "s"}`;

function showBytes(bytes, parts) {
  // Where the client stops lies within another part, or behind it: it is shown in its place.
  const fault = parts.find(part => part[1] === "fault");
  const shown = [];
  for (const [, kind, from, to] of parts) {
    let start = Number(from), end = Number(to);
    if (fault && kind !== "fault") {
      const [left, right] = [Number(fault[2]), Number(fault[3])];
      if (start < right && end > left) {
        if (start < left) shown.push({kind, start, end: left});
        if (end > right) shown.push({kind, start: right, end});
        continue;
      }
    }
    shown.push({kind, start, end});
  }
  shown.sort((one, other) => one.start - other.start);
  // What came before the fault without a part of its own: lines of a head that was not finished.
  const filled = [];
  let place = 0;
  for (const part of shown) {
    if (part.start > place) filled.push({kind: "unfinished-head", start: place, end: part.start});
    filled.push(part);
    place = Math.max(place, part.end);
  }
  if (place < bytes.length) filled.push({kind: "unread", start: place, end: bytes.length});
  const hidden = filled.length - MOST_PARTS;
  $("bytes").replaceChildren(...filled.slice(0, MOST_PARTS).map(({kind, start, end}) => {
    const made = element("div", undefined, "part " + kind);
    const range = end - start === 1 ? `byte ${start}` : `bytes ${start} to ${end - 1}`;
    made.append(element("span", `${PARTS[kind] || kind}: ${range} (${end - start})`, "name"), piece(bytes.subarray(start, end)));
    return made;
  }));
  if (hidden > 0) $("bytes").append(element("p", `And ${plural(hidden, "part")} more.`, "note"));
  if (!filled.length) $("bytes").append(element("p", "There are none.", "note"));
}

// Bytes as text, and what cannot be seen as it is written in the editor.
function piece(bytes) {
  const made = element("div", undefined, "piece");
  const shown = bytes.subarray(0, MOST);
  if (bytes.length > 700) Object.assign(made, {tabIndex: 0, role: "group", ariaLabel: "Bytes"});
  let text = "";
  const flush = () => { if (text) made.append(text); text = ""; };
  for (let index = 0; index < shown.length;) {
    const byte = shown[index], length = sequence(shown, index);
    if (byte >= 0x20 && byte < 0x7F || length > 1) {
      text += new TextDecoder().decode(shown.subarray(index, index + length));
      index += length;
      continue;
    }
    flush();
    const sign = {9: "\\t", 10: "\\n", 13: "\\r"}[byte] || "\\x" + byte.toString(16).toUpperCase().padStart(2, "0");
    made.append(element("span", sign, "sign"));
    if (byte === 10 && index + 1 < shown.length) text = "\n";
    index += 1;
  }
  flush();
  if (bytes.length > MOST) made.append(element("span", ` … and ${bytes.length - MOST} more`, "sign"));
  return made;
}

// How many bytes a character in UTF-8 has that begins here; 1 for one byte that is none.
function sequence(bytes, index) {
  const first = bytes[index], length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
  if (length === 1 || index + length > bytes.length) return 1;
  try {
    const text = new TextDecoder("utf-8", {fatal: true}).decode(bytes.subarray(index, index + length));
    // Marks that turn the direction of a text would turn that of the page.
    return /[\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/.test(text) ? 1 : length;
  } catch { return 1; }
}

function showFields(lines) {
  const kinds = {"field": "", "trailer": "trailer", "interim-field": "interim"};
  const rows = lines.filter(([kind]) => kind in kinds);
  if (!rows.length) return $("fields").replaceChildren(element("p", "None were read.", "note"));
  const table = element("table"), head = element("tr"), body = element("tbody"), top = element("thead");
  for (const title of ["Name", "Value"]) head.append(Object.assign(element("th", title), {scope: "col"}));
  for (const [kind, name, value] of rows.slice(0, 400)) {
    const row = element("tr"), cell = element("td", name), text = element("td", value);
    text.dir = "ltr";
    if (kinds[kind]) cell.append(element("span", ` (${kinds[kind]})`, "note"));
    row.append(cell, text);
    body.append(row);
  }
  top.append(head);
  table.append(top, body);
  $("fields").replaceChildren(table);
}

function choose(index) {
  const example = examples[index];
  $("example").value = example.id;
  $("text").value = example.text;
  $("text").rows = Math.min(18, Math.max(8, example.text.split("\n").length + 1));
  $("look").textContent = example.look;
  $("method").value = example.method || "GET";
  $("close").checked = example.close === "yes";
  $("asked").checked = false;
  $("resumes").checked = Boolean(example.have);
  const [offset, total] = (example.have || "5/13").split("/");
  $("offset").value = offset;
  $("total").value = total || "";
  $("condition").value = "no";
  $("validator").value = '"v1"';
  $("point").hidden = !example.have;
  update();
}

const position = () => examples.findIndex(example => example.id === $("example").value);
const step = by => {
  choose((position() + by + examples.length) % examples.length);
  remember();
};
const remember = () => history.replaceState(null, "", "#" + $("example").value);

function fill() {
  for (const group of new Set(examples.map(example => example.group))) {
    const made = Object.assign(element("optgroup"), {label: group});
    for (const example of examples.filter(example => example.group === group))
      made.append(Object.assign(element("option", example.title), {value: example.id}));
    $("example").append(made);
  }
}

function fromAddress() {
  choose(Math.max(0, examples.findIndex(example => "#" + example.id === location.hash)));
}

// One more than are read: that something was too long is then said.
$("text").maxLength = MOST_LETTERS + 1;
let waiting = 0;
$("text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(update, 80); });
$("form").addEventListener("input", event => {
  if (event.target === $("resumes")) $("point").hidden = !$("resumes").checked;
  if (event.target !== $("text") && event.target !== $("example")) update();
});
$("form").addEventListener("submit", event => event.preventDefault());
$("example").addEventListener("change", () => { choose(position()); remember(); });
$("previous").addEventListener("click", () => step(-1));
$("next").addEventListener("click", () => step(1));
$("ends").addEventListener("click", () => {
  $("text").value = $("text").value.replace(/(?:\\r)?(?:\\n)?\n/g, "\\r\\n\n");
  update();
});
addEventListener("hashchange", fromAddress);
fill();
const ready = load().then(exports => { laboratory = exports; fromAddress(); });
