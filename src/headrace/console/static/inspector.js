// What is known of the shape that was picked in the topology.

import { Table, facts, html, remark } from "./elements.js";
import { go } from "./tabs.js";
import { count, moment, rate, value } from "./words.js";

const PARTITIONS = [["Partition", "name"], ["At", "number"], ["End", "number"], ["Lag", "number"]];
const METRICS = [["Metric", "name"], ["Value", "number"]];
const RECORDS = [["Latest records", "name"], ["Partition", "name"], ["Key", "data"], ["Value", "data wide"]];

export class Inspector {
  /** `close` is called when it is to go. */
  constructor(close) {
    this.title = html("h2", {});
    this.facts = html("div", {});
    this.body = html("div", { class: "columns" });
    this.partitions = new Table("Partitions", PARTITIONS);
    this.metrics = new Table("Metrics", METRICS);
    this.records = new Table("Latest records", RECORDS);
    this.records.element.classList.add("records");
    this.look = html("button", { type: "button", class: "primary" }, "Look into it");
    this.element = html(
      "aside",
      { class: "inspector", "aria-label": "What was picked", hidden: true },
      html("button", { type: "button", class: "close", "aria-label": "Close", onclick: close }, "×"),
      html("div", { class: "column about" }, this.title, this.facts),
      this.body,
    );
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && close());
  }

  /** `known` has topology, tasks, metrics, flow and the records of a topic, if there are any to show. */
  show(shape, known) {
    this.element.hidden = shape === null;
    if (shape === null) return;
    this.title.textContent = shape.name;
    const parts = { topic, store }[shape.kind]?.(shape, known) ?? node(shape, known);
    const inputs = known.tasks.flatMap((task) => task.inputs).filter((input) => parts.reads(input));
    const measured = metricsOf(shape, known.metrics);
    const about = [facts(parts.facts)];
    if (shape.kind === "store") about.push(this.look);
    const contents = [];
    if (inputs.length) contents.push(this.partitions.show(partitionRows(inputs)));
    if (measured.length) contents.push(this.metrics.show(measured));
    if (known.records !== null) contents.push(this.latest(known.records));
    if (!contents.length) contents.push(remark("No metrics of its own yet."));
    this.look.onclick = () => go("stores", shape.name);
    replace(this.facts, about);
    replace(this.body, contents);
  }

  latest({ found, error }) {
    if (found?.length) return this.records.show(found.map(recordRow));
    if (error !== null) return remark("Its records can't be read now.", error.message);
    return remark(found === null ? "Reading the latest records …" : "No records: none were written, or they were deleted.");
  }
}

/** The topic whose records are shown with a shape; null if it has none, or several. */
export function topicOf(shape, topology) {
  if (shape.kind === "topic") return topology.topics.some(({ name }) => name === shape.name) ? shape.name : null;
  const topics = shape.kind === "store" ? [] : (nodeOf(shape, topology)?.topics ?? []);
  return topics.length === 1 ? topics[0] : null;
}

const nodeOf = (shape, topology) => topology.subtopologies.flatMap((part) => part.nodes).find(({ name }) => name === shape.name);

const recordRow = (each) => [
  moment(each.timestamp),
  `${each.partition} at ${count(each.offset)}`,
  value(each.key),
  each.problem === null ? value(each.value) : html("div", {}, value(each.value), html("p", { class: "bad" }, each.problem)),
];

function partitionRows(inputs) {
  const isOne = new Set(inputs.map(({ topic }) => topic)).size === 1;
  return inputs.map(({ topic, partition, position, end, lag }) => [
    isOne ? String(partition) : `${topic} ${partition}`, count(position), count(end), count(lag),
  ]);
}

function node(shape, { topology, flow }) {
  const found = nodeOf(shape, topology);
  const topics = found?.topics ?? [];
  const isSource = shape.kind === "source";
  return {
    facts: [
      ["Kind", shape.kind],
      ["Sub-topology", String(shape.part)],
      [isSource ? "Reads" : "Writes", topics.join(", ")],
      ["Pattern", found?.pattern],
      ["Named by", found?.extractor],
      ["Stores", found?.stores.join(", ")],
      ["Rate", known(topics, (topic) => (isSource ? flow.readRate : flow.writeRate)(topic, shape.name))],
    ],
    reads: (input) => input.source === shape.name,
  };
}

function topic(shape, { topology, flow }) {
  const found = topology.topics.find((each) => each.name === shape.name);
  return {
    facts: [
      ["Kind", found?.internal ? "topic, internal to the application" : "topic"],
      ["Partitions", found?.partitions === undefined || found.partitions === null ? "" : count(found.partitions)],
      ["Read by", found?.read_by.join(", ")],
      ["Written by", found?.written_by.join(", ")],
      ["Read", known(found?.read_by ?? [], (source) => flow.readRate(shape.name, source))],
      ["Written", known(found?.written_by ?? [], (sink) => flow.writeRate(shape.name, sink))],
    ],
    reads: (input) => input.topic === shape.name,
  };
}

function store(shape, { topology, tasks }) {
  const users = topology.subtopologies.flatMap((part) => part.nodes).filter((each) => each.stores.includes(shape.name));
  const holders = tasks.filter((task) => task.stores.includes(shape.name));
  return {
    facts: [
      ["Kind", "store"],
      ["Sub-topology", String(shape.part)],
      ["Used by", users.map((each) => each.name).join(", ")],
      ["In tasks", holders.map((task) => task.id).join(", ")],
    ],
    reads: () => false,
  };
}

/** The sum of the rates that are known, as text. */
function known(names, rateOf) {
  const rates = names.map(rateOf).filter((each) => each !== null);
  return rates.length ? rate(rates.reduce((sum, each) => sum + each, 0)) : null;
}

/** Of all tasks together: what is counted is added up, of the rest the highest counts. */
function metricsOf(shape, metrics) {
  const mine = metrics.filter(({ tags }) =>
    Object.entries(tags).some(([tag, text]) => text === shape.name && isOf(shape.kind, tag)),
  );
  const all = new Map();
  for (const { name, value: number } of mine) {
    if (typeof number !== "number") all.set(name, number);
    else if (/-(total|rate|count)$/.test(name)) all.set(name, (all.get(name) ?? 0) + number);
    else all.set(name, name.endsWith("-min") ? Math.min(all.get(name) ?? Infinity, number) : Math.max(all.get(name) ?? -Infinity, number));
  }
  return [...all].sort().map(([name, number]) => [name, typeof number === "number" ? decimal.format(number) : value(number)]);
}

const decimal = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

const isOf = (kind, tag) => {
  if (kind === "topic") return tag === "topic";
  if (kind === "store") return tag.endsWith("-state-id") || tag === "store" || tag === "record-cache-id";
  return tag === "processor-node-id";
};

/** Replaces children where they differ, so that focus and scrolling stay. */
function replace(parent, wanted) {
  for (const [at, element] of wanted.entries()) {
    const there = parent.children[at];
    if (there === element || there?.isEqualNode(element)) continue;
    if (there === undefined) parent.append(element);
    else there.replaceWith(element);
  }
  while (parent.children.length > wanted.length) parent.lastChild.remove();
}
