// The tasks: where each runs, how far it is, and what is being restored.

import { Table, byId, facts, html, remark, say } from "./elements.js";
import { brief, count, plural, rate } from "./words.js";

const COLUMNS = [
  ["Task", "name"],
  ["Slot", "number"],
  ["Worker", "name"],
  ["Records", "number"],
  ["Rate", "number"],
  ["Lag", "number"],
  ["Restored", "number"],
  ["Reads", "name wide"],
  ["Stores", "name"],
];

const restoring = html("div");
const summary = html("p", { class: "quiet" });
const table = new Table("Tasks", COLUMNS);
const nothing = remark("No tasks yet.", "They appear when the application has planned its work.");

export const start = () => byId("tasks").replaceChildren(restoring, nothing, summary, table.element);

export function show(tasks) {
  nothing.hidden = tasks.length > 0;
  table.element.hidden = tasks.length === 0;
  const slots = new Set(tasks.map((task) => task.slot)).size;
  const workers = new Set(tasks.map((task) => task.worker).filter(Boolean)).size;
  say(
    summary,
    tasks.length
      ? `${plural(tasks.length, "task")} in ${plural(slots, "slot")}; ${plural(workers, "worker")} ran the last batches.`
      : "",
  );
  table.show([...tasks].sort(byNumbers).map(row));
}

export function showRestoring(stores) {
  restoring.replaceChildren(...(stores.length ? [restoration(stores)] : []));
}

const byNumbers = (one, other) => one.subtopology - other.subtopology || one.partition - other.partition;

const row = (task) => [
  task.id,
  String(task.slot),
  task.worker ?? "–",
  count(task.records_total),
  rate(task.rate),
  count(task.lag),
  count(task.restored_total),
  html(
    "ul",
    {},
    task.inputs.map((input) =>
      html("li", {}, `${input.topic} ${input.partition}`, html("span", { class: "quiet" }, ` at ${count(input.position)}${input.end === null ? "" : ` of ${count(input.end)}`}`)),
    ),
  ),
  task.stores.join(", ") || "–",
];

function restoration(stores) {
  const done = (store) => store.offset - store.start;
  const all = (store) => Math.max(1, store.end - store.start);
  const sum = (of) => stores.reduce((total, store) => total + of(store), 0);
  const bar = (value, max, label) => html("progress", { value, max, "aria-label": label });
  return html(
    "section",
    { class: "card" },
    html("h2", {}, `Restoring ${plural(stores.length, "store partition")}`),
    bar(sum(done), sum(all), "All of them"),
    html("span", { class: "quiet" }, ` ${brief(sum(done))} of ${brief(sum(all))} records`),
    facts(
      stores.slice(0, 12).map((store) => [
        `${store.store} ${store.partition}`,
        html("span", {}, bar(done(store), all(store), `${store.store} ${store.partition}`), html("span", { class: "quiet" }, ` ${count(done(store))} of ${count(all(store))}`)),
      ]),
    ),
    stores.length > 12 ? html("p", { class: "quiet" }, `and ${stores.length - 12} more`) : null,
  );
}
