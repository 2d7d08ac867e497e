// What statements are answered with, as people read it.

import { Table, facts, html } from "./elements.js";
import { go } from "./tabs.js";
import { moment, value as text } from "./words.js";

const FIELDS = [["Column", "name"], ["Type", "data"], ["", "name"]];
const ABOUT = ["@type", "statementText", "warnings"]; // of every one

/** An element for an entity. */
export function entity(answer) {
  const show = SHOWN[answer["@type"]] ?? other;
  const warnings = (answer.warnings ?? []).map(({ message }) => html("p", { class: "busy" }, message));
  return html("div", { class: "column" }, show(answer), warnings);
}

const SHOWN = {
  currentStatus: ({ commandStatus: { status, message, queryId } }) => [
    html("p", { class: status === "ERROR" ? "bad text" : "text" }, message),
    queryId && topologyButton(queryId),
  ],
  warning_entity: ({ message }) => html("p", { class: "busy" }, message),
  sourceDescription: ({ sourceDescription }) => source(sourceDescription),
  source_descriptions: ({ sourceDescriptions }) => sourceDescriptions.map(source),
  queryDescription: ({ queryDescription }) => query(queryDescription),
  query_descriptions: ({ queryDescriptions }) => queryDescriptions.map(query),
};

export const source = (about) => [
  html("h3", {}, about.name),
  facts([
    ["Kind", about.windowType ? `${about.type}, ${about.windowType} windows` : about.type],
    ["Topic", about.topic],
    ["Formats", `${about.keyFormat} keys, ${about.valueFormat} values`],
    ["Timestamp", about.timestamp],
    ["Partitions", about.partitions ? String(about.partitions) : ""],
    ["Written by", about.writeQueries.map(({ id }) => id).join(", ")],
    ["Read by", about.readQueries.map(({ id }) => id).join(", ")],
  ]),
  fields(about.fields),
];

const query = (about) => [
  facts([
    ["Query", about.id],
    ["Kind", about.queryType],
    ["State", about.state],
    ["Reads", about.sources.join(", ")],
    ["Writes", about.sinks.join(", ")],
  ]),
  ...about.queryErrors.map(failed),
  about.state && topologyButton(about.id),
  fields(about.fields),
  about.topology && html("pre", { class: "scroll excerpt", tabindex: "0" }, about.topology),
];

export const failed = ({ timestamp, errorMessage, type }) =>
  html("p", { class: "bad text" }, `${moment(timestamp)} ${type}: ${errorMessage}`);

const topologyButton = (id) =>
  html("div", {}, html("button", { type: "button", onclick: () => go("query", id) }, "Show its topology"));

const fields = (all) =>
  new Table("Columns", FIELDS).show(all.map(({ name, schema, type }) => [name, typeText(schema), type ?? ""]));

function typeText({ type, fields: members, memberSchema, parameters }) {
  if (type === "DECIMAL") return `DECIMAL(${parameters.precision}, ${parameters.scale})`;
  if (type === "ARRAY") return `ARRAY<${typeText(memberSchema)}>`;
  if (type === "MAP") return `MAP<STRING, ${typeText(memberSchema)}>`;
  if (type === "STRUCT") return `STRUCT<${members.map(({ name, schema }) => `${name} ${typeText(schema)}`).join(", ")}>`;
  return type;
}

/** Lists become tables, the rest terms. */
function other(answer) {
  const members = Object.entries(answer).filter(([name]) => !ABOUT.includes(name));
  const isList = ([, value]) => Array.isArray(value) && value.every((item) => item !== null && typeof item === "object");
  const terms = members.filter((each) => !isList(each)).map(([name, value]) => [name, value === null ? "" : text(value)]);
  return [
    terms.length ? facts(terms) : null,
    ...members.filter(isList).map(([name, items]) => list(name, items)),
  ];
}

function list(title, items) {
  if (!items.length) return html("p", { class: "quiet" }, `No ${title}.`);
  const columns = Object.keys(items[0]);
  const table = new Table(title, columns.map((name) => [name, "data"]));
  return table.show(items.map((item) => columns.map((name) => (item[name] === null ? "" : text(item[name] ?? "")))));
}
