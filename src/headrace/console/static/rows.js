// The rows of a query, as they come.

import { Problem } from "./api.js";
import { Table, html, say } from "./elements.js";
import { count, plural } from "./words.js";

const MOST = 500; // older ones go
const EVERY_MS = 100;
const NUMBER = /^(INTEGER|BIGINT|DOUBLE|DECIMAL)/;

export class Rows {
  /** Shows them in `place`. PRINT is answered with lines of text, not with rows. `sinceNow`: none from before come. */
  constructor(place, isPrint, sinceNow) {
    Object.assign(this, { place, sinceNow, waiting: [], total: 0, table: null, timer: null });
    this.note = html("p", { class: "quiet" }, "Waiting for the server …");
    this.note.setAttribute("role", "status");
    place.append(this.note);
    if (isPrint) this.begin([["Record", "data"]], (line) => [line]);
  }

  begin(columns, read) {
    this.read = read;
    this.table = new Table("Rows", columns);
    this.place.append(this.table.element);
    this.table.element.hidden = true;
    this.tell("Running");
  }

  /** Throws Problem if the line says that the query has failed. */
  add(line) {
    if (!line) return;
    if (line.startsWith('{"@type"')) throw new Problem(500, JSON.parse(line));
    if (this.table === null) {
      const { columnNames, columnTypes } = JSON.parse(line);
      this.begin(columnNames.map((name, at) => [name, NUMBER.test(columnTypes[at]) ? "number data" : "data"]), cells);
      return;
    }
    this.total += 1;
    this.waiting.push(line);
    if (this.waiting.length > 2 * MOST) this.waiting = this.waiting.slice(-MOST);
    this.timer ??= setTimeout(() => this.flush("Running"), EVERY_MS);
  }

  flush(how) {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.table !== null && this.waiting.length) {
      const box = this.table.element;
      const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
      box.hidden = false;
      this.table.append(this.waiting.slice(-MOST).map(this.read), MOST);
      this.waiting = [];
      if (isAtEnd) box.scrollTop = box.scrollHeight; // who has scrolled back wants to read there
    }
    this.tell(how);
  }

  /** Nothing more comes: `how` says why. */
  end(how) {
    if (this.table === null) this.note.remove(); // it never began
    else this.flush(how);
  }

  tell(how) {
    const shown = this.total > MOST ? ` The last ${count(MOST)} are shown.` : "";
    const none = how === "Running" && !this.total ? (this.sinceNow ? " What was written before may be left out: see New queries begin." : "") : "";
    say(this.note, `${how}: ${this.total ? plural(this.total, "row") : "no rows"}${how === "Running" ? " so far" : ""}.${shown}${none}`);
  }
}

/** Numbers as they were sent, where the browser can: JavaScript's have no more than 53 bits. */
const exact = (_, value, context) =>
  typeof value === "number" && context?.source !== undefined && JSON.rawJSON ? JSON.rawJSON(context.source) : value;

const cells = (line) => JSON.parse(line, exact).map(cell);

function cell(value) {
  if (value === null) return html("span", { class: "quiet" }, "null");
  return typeof value === "string" ? value : JSON.stringify(value);
}
