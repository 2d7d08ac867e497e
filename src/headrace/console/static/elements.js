// Makes elements. Text only ever becomes text: nothing that comes from data is parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export const html = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

/** Sets the text of an element, only if it is another one: selections survive. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A table that can be shown anew: what hasn't changed is left alone, with focus and selection. */
export class Table {
  /** Columns are [title, class]. */
  constructor(caption, columns) {
    this.columns = columns;
    this.body = html("tbody");
    const titles = columns.map(([title, kind]) => html("th", { class: kind, scope: "col" }, title));
    this.element = html(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      html("table", {}, html("thead", {}, html("tr", {}, titles)), this.body),
    );
  }

  /** Adds rows at the end; of all that there are, the last `most` stay. */
  append(rows, most) {
    for (const row of rows.slice(-most)) {
      const line = this.body.insertRow();
      for (const [column, cell] of row.entries()) line.append(html("td", { class: this.columns[column][1] }, cell));
    }
    while (this.body.rows.length > most) this.body.deleteRow(0);
  }

  /** A row is a list of texts or elements. */
  show(rows) {
    while (this.body.rows.length > rows.length) this.body.deleteRow(-1);
    for (const [at, row] of rows.entries()) {
      const line = this.body.rows[at] ?? this.body.insertRow();
      for (const [column, cell] of row.entries()) {
        const box = line.cells[column] ?? line.appendChild(html("td", { class: this.columns[column][1] }));
        if (typeof cell === "string") say(box, cell);
        else if (!box.firstChild?.isEqualNode(cell)) box.replaceChildren(cell);
      }
    }
    return this.element;
  }
}

/** What stands where there is nothing else to show. */
export const remark = (title, ...lines) =>
  html("div", { class: "remark" }, html("p", { class: "strong" }, title), lines.map((line) => html("p", {}, line)));

/** Terms and what they are, without those that are not known. */
export const facts = (pairs) =>
  html(
    "dl",
    {},
    pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([term, value]) => [html("dt", {}, term), html("dd", {}, value)]),
  );
