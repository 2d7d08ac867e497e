// The editor, and what comes of the statements in it.

import { Unreachable } from "./api.js";
import { byId, html, remark, say } from "./elements.js";
import { entity } from "./entities.js";
import { answer, execute, quoted } from "./ksql.js";
import { Rows } from "./rows.js";
import { KINDS, Settings } from "./settings.js";
import { kind, place, statements } from "./statements.js";

const OFFSETS = "auto.offset.reset";
const KEPT = "headrace.sql";

const settings = new Settings();
let running = null; // an AbortController
let changed = () => {};

const text = html("textarea", {
  id: "editor",
  rows: "7",
  spellcheck: "false",
  autocomplete: "off",
  "aria-label": "SQL",
  placeholder: "SELECT * FROM clicks EMIT CHANGES;",
});
const runs = html("button", { type: "button", class: "primary", title: "Ctrl or Cmd, and Enter", onclick: () => run() }, "Run");
const stops = html("button", { type: "button", disabled: true, onclick: () => running?.abort() }, "Stop");
const offsets = html(
  "select",
  { id: "offsets", onchange: () => begin(offsets.value) },
  [["", "where the server says"], ["earliest", "at the beginning"], ["latest", "at what comes now"]].map(([value, label]) => html("option", { value }, label)),
);
const results = html("div", { class: "grow column results" });

/** `onChange` is called when there may be new names. */
export function start(onChange) {
  changed = onChange;
  text.value = sessionStorage.getItem(KEPT) ?? "";
  text.addEventListener("input", () => sessionStorage.setItem(KEPT, text.value));
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
  document.addEventListener("selectionchange", () => say(runs, selection() ? "Run selection" : "Run"));
  results.replaceChildren(remark("Nothing asked yet.", "Write SQL above, and press Ctrl+Enter. What is selected runs alone."));
  const label = html("label", { for: "offsets" }, "New queries begin");
  byId("sql").replaceChildren(text, html("div", { class: "bar" }, runs, stops, html("span", { class: "field" }, label, offsets)), results);
}

/** What the server says of a stream or table. */
export const describe = (name) => runAll([`DESCRIBE ${quoted(name)};`]);

/** Shows the records of a topic. */
export const print = (topic) => runAll([`PRINT '${topic.replaceAll("'", "''")}' FROM BEGINNING;`]);

const selection = () => text.value.slice(text.selectionStart, text.selectionEnd).trim();

const run = () => runAll(statements(selection() || text.value));

function begin(offset) {
  if (offset) settings.properties[OFFSETS] = offset;
  else delete settings.properties[OFFSETS];
}

/** One after the other, until one fails. What ran before is ended. */
async function runAll(all) {
  running?.abort();
  const mine = (running = new AbortController());
  stops.disabled = false;
  results.replaceChildren(...(all.length ? [] : [remark("There is no statement.")]));
  for (const statement of all) {
    const body = html("div", { class: "column" });
    const title = html("pre", { class: "statement" }, statement);
    const box = html("section", { class: "card", "aria-label": kind(statement) }, title, body);
    results.append(box);
    try {
      await runOne(statement, body, mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) body.append(...failure(error, statement));
      break;
    }
    if (mine.signal.aborted) break;
  }
  if (running !== mine) return;
  running = null;
  stops.disabled = true;
}

async function runOne(statement, body, signal) {
  const what = kind(statement);
  if (what === "SELECT" || what === "PRINT") {
    const rows = new Rows(body, what === "PRINT", settings.properties[OFFSETS] !== "earliest");
    let how = "Failed";
    try {
      for await (const line of answer(statement, settings, signal)) rows.add(line);
      how = "Ended";
    } finally {
      rows.end(signal.aborted ? "Stopped" : how);
    }
    return;
  }
  const waits = html("p", { class: "quiet" }, "Running …");
  body.append(waits);
  try {
    const entities = await execute(statement, settings);
    body.append(...(entities.length ? entities.map(entity) : [html("p", {}, remember(what, statement))]));
  } finally {
    waits.remove();
    changed();
  }
}

function remember(what, statement) {
  if (!KINDS.includes(what)) return "Done.";
  const said = settings.keep(statement);
  offsets.value = settings.properties[OFFSETS] ?? "";
  return said;
}

function failure(error, statement) {
  const [said] = error.message.split("\nStatement: "); // it is shown above
  const message = error instanceof Unreachable ? `${said} Run it again when the server is back.` : said;
  const found = place(message, statement);
  return [
    html("p", { class: "bad text", role: "alert" }, message),
    found && html("pre", { class: "excerpt" }, found[0], html("mark", {}, found[1]), found[2]),
  ].filter(Boolean);
}
