// The settings, secrets hidden by the server.

import { get } from "./api.js";
import { Table, byId, html, remark } from "./elements.js";

const COLUMNS = [
  ["Setting", "name"],
  ["Value", "data"],
  ["", "wide text quiet"],
];

const wanted = html("input", { type: "search", id: "wanted", placeholder: "commit", autocomplete: "off" });
const all = html("input", { type: "checkbox", id: "all" });
const table = new Table("Settings", COLUMNS);
const list = html("div", { class: "grow" });
let settings = [];

export function start() {
  wanted.addEventListener("input", show);
  all.addEventListener("change", show);
  byId("configuration").replaceChildren(
    html(
      "div",
      { class: "bar" },
      html("label", { for: "wanted" }, "Find"),
      wanted,
      html("label", { class: "check" }, all, "defaults too"),
    ),
    list,
  );
}

export async function load() {
  try {
    settings = (await get("/v1/config")).data.settings;
    show();
  } catch (error) {
    list.replaceChildren(remark("The settings could not be read.", error.message));
  }
}

function show() {
  const text = wanted.value.trim().toLowerCase();
  const found = settings.filter(
    (each) => (each.given || all.checked) && `${each.key} ${each.doc}`.toLowerCase().includes(text),
  );
  list.replaceChildren(
    found.length
      ? table.show(found.map((each) => [each.key, each.value ?? "–", each.doc]))
      : remark("No such setting.", all.checked ? "" : "Those that have their default are not searched: see the box above."),
  );
}
