// A browser of stores: look up a key, a range of keys, windows, sessions or versions.

import { Problem, get } from "./api.js";
import { Table, byId, html, remark } from "./elements.js";
import { go } from "./tabs.js";
import { moment, plural, value } from "./words.js";

const PAGE = 50;

/** What can be asked, by the route that answers: [route, title, fields]. */
const QUESTIONS = {
  value: ["A key", ["key"]],
  entries: ["A range of keys", ["from", "to", "prefix", "order"]],
  windows: ["Windows", ["maybe-key", "from-time", "to-time", "order"]],
  sessions: ["Sessions", ["maybe-key", "from-time", "to-time", "order"]],
  versions: ["Versions of a key", ["key", "from-time", "to-time", "order"]],
};
const COLUMNS = {
  entries: [["Key", "data"], ["Value", "data wide"], ["Time", "name"]],
  windows: [["Key", "data"], ["From", "name"], ["To", "name"], ["Value", "data wide"], ["Time", "name"]],
  versions: [["Value", "data wide"], ["From", "name"], ["To", "name"]],
};

const list = html("nav", { class: "list", "aria-label": "Stores" });
const detail = html("div", { class: "grow column" });
let stores = null;
let chosen = "";

export const start = () => byId("stores").replaceChildren(list, detail);

/** Shows a store, or the first one. */
export async function load(name) {
  chosen = name || chosen;
  try {
    stores = (await get("/v1/stores")).data.stores;
  } catch (error) {
    if (stores === null) detail.replaceChildren(problemRemark(error));
    return;
  }
  const shown = stores.find((store) => store.name === chosen) ?? stores.find((store) => store.lookups.length) ?? stores[0];
  list.replaceChildren(...stores.map((store) => listed(store, store === shown)));
  if (shown === undefined) detail.replaceChildren(remark("This topology has no stores.", "An aggregation or a table makes one."));
  else if (detail.dataset.store !== shown.name) open(shown);
}

const listed = (store, isShown) =>
  html(
    "button",
    { type: "button", "aria-current": isShown ? "true" : null, onclick: () => go("stores", store.name) },
    html("span", {}, store.name),
    html("span", { class: "quiet" }, store.kind + (store.is_global ? ", global" : "")),
  );

function open(store) {
  detail.dataset.store = store.name;
  const results = html("div", { class: "grow column", "aria-live": "polite" });
  const about = [
    store.kind,
    store.is_global ? "global" : store.partitions.length ? plural(store.partitions.length, "partition") : "",
    store.persistent ? "persistent" : "in memory",
    store.changelog === null ? "no changelog" : `changelog ${store.changelog}`,
  ];
  const head = [html("h2", {}, store.name), html("p", { class: "quiet" }, about.filter(Boolean).join(" · "))];
  if (!store.lookups.length) {
    detail.replaceChildren(...head, remark("This store can't be asked.", "It belongs to an operator that keeps it in a form of its own."));
    return;
  }
  const forms = store.lookups.map((route) => question(store, route, results));
  detail.replaceChildren(...head, html("div", { class: "questions" }, forms), results);
  results.replaceChildren(remark("Nothing asked yet.", "What is shown is what was last committed."));
}

function question(store, route, results) {
  const [title, fields] = QUESTIONS[route];
  const id = (field) => `${route}-${field}`;
  const inputs = fields.map((field) => {
    const [label, input] = FIELDS[field](id(field), store);
    return html("span", { class: "field" }, html("label", { for: id(field) }, label), input);
  });
  return html(
    "form",
    {
      class: "bar",
      "data-route": route,
      onsubmit: (event) => {
        event.preventDefault();
        ask(store, route, new FormData(event.target), results);
      },
    },
    html("strong", {}, title),
    inputs,
    html("button", { type: "submit", class: "primary" }, route === "value" ? "Look up" : "List"),
  );
}

const text = (id, name, more) => html("input", { id, name, type: "text", autocomplete: "off", spellcheck: "false", ...more });
const time = (id, name) => html("input", { id, name, type: "datetime-local", step: "1" });
const encoded = (label, store) => (store.key_encoding === "text" ? label : `${label} (${store.key_encoding})`);

const FIELDS = {
  key: (id, store) => [encoded("Key", store), text(id, "key", { required: true })],
  "maybe-key": (id, store) => [encoded("Key", store), text(id, "key", { placeholder: "all keys" })],
  from: (id, store) => [encoded("From", store), text(id, "from", { placeholder: "first", class: "short" })],
  to: (id, store) => [encoded("to", store), text(id, "to", { placeholder: "last", class: "short" })],
  prefix: (id) => ["or prefix", text(id, "prefix", { class: "short" })],
  "from-time": (id) => ["From", time(id, "from")],
  "to-time": (id) => ["to", time(id, "to")],
  order: (id) => [
    "Order",
    html("select", { id, name: "order" }, html("option", { value: "asc" }, "ascending"), html("option", { value: "desc" }, "descending")),
  ],
};

async function ask(store, route, form, results) {
  const parameters = Object.fromEntries(form);
  if (route !== "entries") {
    for (const bound of ["from", "to"]) {
      if (parameters[bound]) parameters[bound] = new Date(parameters[bound]).getTime();
    }
  }
  const path = `/v1/stores/${encodeURIComponent(store.name)}/${route}`;
  results.replaceChildren(remark("Looking …"));
  try {
    if (route === "value") results.replaceChildren(found((await get(path, parameters)).data));
    else await pages(path, route, { ...parameters, limit: PAGE }, results);
  } catch (error) {
    results.replaceChildren(problemRemark(error));
  }
}

const found = (answer) =>
  html(
    "div",
    { class: "card" },
    html("p", { class: "quiet" }, "Key ", html("code", {}, value(answer.key))),
    html("pre", { class: "answer" }, typeof answer.value === "object" ? JSON.stringify(answer.value, null, 2) : String(answer.value)),
    answer.timestamp === null ? null : html("p", { class: "quiet" }, `of ${moment(answer.timestamp)}`, answer.valid_to === null ? "" : ` to ${moment(answer.valid_to)}`),
  );

async function pages(path, route, parameters, results) {
  const kind = route === "sessions" ? "windows" : route;
  const table = new Table("What was found", COLUMNS[kind]);
  const rows = [];
  const note = html("p", { class: "quiet" });
  const more = html("button", { type: "button" }, "More");
  const next = async (cursor) => {
    const { data } = await get(path, { ...parameters, cursor });
    rows.push(...data.items.map(ROWS[kind]));
    table.show(rows);
    note.replaceChildren(`${plural(rows.length, "entry", "entries")}${data.next === null ? "." : ", and there are more. "}`);
    more.hidden = data.next === null;
    more.onclick = () => next(data.next).catch((error) => note.replaceChildren(error.message));
  };
  await next("");
  if (rows.length) results.replaceChildren(table.element, html("div", { class: "bar" }, note, more));
  else results.replaceChildren(remark("Nothing found.", "No entry is in that range."));
}

const timeOr = (timestamp, otherwise) => (timestamp === null ? otherwise : moment(timestamp));
const ROWS = {
  entries: (each) => [value(each.key), value(each.value), timeOr(each.timestamp, "–")],
  windows: (each) => [value(each.key), moment(each.start), moment(each.end), value(each.value), timeOr(each.timestamp, "–")],
  versions: (each) => [value(each.value), moment(each.timestamp), timeOr(each.valid_to, "now")],
};

function problemRemark(error) {
  if (error instanceof Problem) {
    return remark(error.title, ...[error.message, error.hint].filter((line) => line && line !== error.title));
  }
  return remark("No answer from the application.", "Ask again when it is back.");
}
