// A persistent query: what it is, and its topology.

import { get } from "./api.js";
import { print } from "./editor.js";
import { byId, html, remark, say } from "./elements.js";
import { failed } from "./entities.js";
import { Graph } from "./graph.js";
import { execute, quoted } from "./ksql.js";
import { go } from "./tabs.js";

let chosen = "";
let drawn = null; // the query that is in the picture
let known = null; // all queries; null until the server has said

const title = html("h2", {});
const state = html("span", { class: "state" });
const sql = html("pre", { class: "statement" });
const problems = html("div", { class: "column" });
const picked = html("div", { class: "bar picked", hidden: true });
const head = html("div", { class: "card" }, html("div", { class: "bar" }, title, state), sql, problems);
const nothing = html("div", {});
const graph = new Graph(pick);

export const start = () => byId("query").replaceChildren(nothing, head, graph.element, picked);

/** Shows a query, or the first one. */
export function open(id) {
  chosen = id || chosen;
  load();
}

/** Takes the list of all queries. */
export function know(queries) {
  known = queries;
  if (!byId("query").hidden) load();
}

async function load() {
  const found = known?.find(({ id }) => id === chosen) ?? (chosen ? undefined : known?.[0]);
  for (const part of [head, graph.element]) part.hidden = found === undefined;
  nothing.hidden = found !== undefined;
  nothing.replaceChildren(why());
  if (found === undefined) return forget();
  say(title, found.id);
  say(state, found.state);
  state.dataset.state = found.state;
  say(sql, found.queryString);
  if (found.state === "ERROR") showProblems(found.id);
  else problems.replaceChildren();
  if (drawn !== found.id) draw(found.id);
}

function why() {
  if (known === null) return remark("Loading the queries …");
  if (chosen) return remark(`There is no query ${chosen}.`, "It was terminated, or never there.");
  return remark("No query runs yet.", "CREATE STREAM … AS SELECT and CREATE TABLE … AS SELECT start one.");
}

function forget() {
  drawn = null;
  picked.hidden = true;
}

async function draw(id) {
  forget();
  drawn = id;
  try {
    const { data } = await get(`/v1/queries/${encodeURIComponent(id)}/picture`);
    if (drawn === id) graph.draw(data);
  } catch {
    drawn = null; // the next list of queries tries again
  }
}

async function showProblems(id) {
  const [{ queryDescription }] = await execute(`EXPLAIN ${quoted(id)};`).catch(() => [{ queryDescription: { queryErrors: [] } }]);
  problems.replaceChildren(...queryDescription.queryErrors.map(failed));
}

function pick(shape) {
  picked.hidden = shape === null;
  if (shape === null) return;
  const looks = html("button", { type: "button", onclick: () => look(shape.name) }, "Print its records");
  picked.replaceChildren(html("span", { class: "quiet" }, shape.kind), html("code", {}, shape.name), ...(shape.kind === "topic" ? [looks] : []));
}

function look(topic) {
  go("sql");
  print(topic);
}
