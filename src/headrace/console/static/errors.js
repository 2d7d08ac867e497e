// What went wrong lately, and the records that were put aside.

import { Table, byId, html, remark, say } from "./elements.js";
import { count, moment, plural } from "./words.js";

const FAILURES = [
  ["Time", "name"],
  ["Kind", "name"],
  ["Task", "name"],
  ["Message", "wide text"],
];
const LETTERS = [
  ["Time", "name"],
  ["Error", "name"],
  ["Message", "wide text"],
  ["From", "name"],
  ["Key", "data"],
  ["Value", "data"],
];

const failed = new Table("Errors", FAILURES);
const none = remark("No errors since the application was started.");
const dropped = html("p");
const title = html("h2", {}, "Dead letters");
const letters = new Table("Dead letters", LETTERS);
const noLetters = html("div");

export const start = () =>
  byId("errors").replaceChildren(
    html("h2", {}, "Errors"), none, failed.element, dropped, title, noLetters, letters.element,
  );

export function showFailures(found) {
  none.hidden = found.errors.length > 0;
  failed.element.hidden = found.errors.length === 0;
  failed.show(found.errors.map((each) => [moment(each.at), each.kind, each.task ?? "–", each.message]));
  const records = plural(found.dropped_total, "record");
  say(dropped, found.dropped_total ? `${records} dropped: late ones, and those that a handler let go.` : "");
}

export function showDeadLetters(found) {
  say(title, found.topic === null ? "Dead letters" : `Dead letters in ${found.topic}`);
  letters.element.hidden = found.records.length === 0;
  noLetters.replaceChildren(...(found.records.length ? [] : [whyNone(found.topic)]));
  letters.show(found.records.map(letterRow));
}

export function failDeadLetters(error) {
  if (letters.element.hidden || !letters.body.rows.length) {
    letters.element.hidden = true;
    noLetters.replaceChildren(remark("The dead letters can't be read now.", error.message));
  }
}

function whyNone(topic) {
  if (topic !== null) return remark("No dead letters.");
  return remark(
    "The application has no topic for dead letters.",
    "Name one in the setting errors.dead.letter.queue.topic.name, and have a handler that lets records go.",
  );
}

const letterRow = (each) => [
  moment(each.timestamp),
  each.error ?? "–",
  each.message ?? "–",
  each.source_topic === null ? "–" : `${each.source_topic} ${each.source_partition} at ${count(each.source_offset)}`,
  each.key ?? "null",
  each.value ?? "null",
];
