// What the server has: streams, tables and the queries that run.

import { describe } from "./editor.js";
import { byId, html, remark } from "./elements.js";
import { execute } from "./ksql.js";
import { go } from "./tabs.js";

let shown = "";

/** Asked again and again: {data, size}, as for all that is polled. */
export async function lists() {
  const [streams, tables, queries] = await execute("LIST STREAMS; LIST TABLES; LIST QUERIES;");
  const data = {
    streams: streams.streams,
    tables: tables.tables,
    queries: queries.queries.filter(({ queryType }) => queryType === "PERSISTENT"),
  };
  return { data, size: JSON.stringify(data).length };
}

export function show(found) {
  const text = JSON.stringify(found);
  if (text === shown) return; // focus stays where it is
  shown = text;
  byId("catalogue").replaceChildren(
    ...part("Streams", found.streams, source),
    ...part("Tables", found.tables, source),
    ...part("Queries", found.queries, (query) =>
      entry(query.id, query.state.toLowerCase(), () => go("query", query.id), query.state === "ERROR"),
    ),
  );
}

export function fail(error) {
  if (shown || error.status === 401) return;
  byId("catalogue").replaceChildren(remark("Nothing to list.", error.message));
}

const part = (title, items, shape) => [
  html("h2", {}, title),
  ...(items.length ? items.map(shape) : [html("p", { class: "quiet" }, "none yet")]),
];

const source = (each) =>
  entry(each.name, `${each.topic} · ${each.valueFormat}${each.isWindowed ? " · windows" : ""}`, () => {
    go("sql");
    describe(each.name);
  });

const entry = (name, about, action, isBad = false) =>
  html(
    "button",
    { type: "button", onclick: action },
    html("span", {}, name),
    html("span", { class: isBad ? "bad" : "quiet" }, about),
  );
