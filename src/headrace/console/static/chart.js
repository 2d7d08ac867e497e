// A number over the last minutes: what it is now, and a curve.

import { html, say, svg } from "./elements.js";
import { clock } from "./words.js";

const SHORTEST_MS = 60_000;
const LONGEST_MS = 5 * 60_000;
const WIDTH = 300;
const HEIGHT = 56;

export class Chart {
  /** `form` makes text of a number. */
  constructor(title, form) {
    this.form = form;
    this.points = []; // [time, number or null]
    this.now = html("strong", { class: "now" }, "–");
    this.note = html("span", { class: "quiet" });
    this.top = html("span", { class: "top" });
    this.area = svg("path", { class: "area" });
    this.curve = svg("path", { class: "curve" });
    this.cross = svg("path", { class: "cross" });
    const drawing = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      this.area,
      this.curve,
      this.cross,
    );
    drawing.addEventListener("pointermove", (event) => this.pointAt(event, drawing));
    drawing.addEventListener("pointerleave", () => this.leave());
    this.element = html(
      "article",
      { class: "chart" },
      html("h2", {}, title),
      html("div", { class: "reading" }, this.now, this.note),
      html("div", { class: "plot" }, drawing, this.top),
    );
  }

  /** A number of now; null where nothing is known, which leaves a gap. */
  add(number, time = Date.now()) {
    this.points.push([time, number ?? null]);
    while (this.points[0][0] < time - LONGEST_MS) this.points.shift();
    if (this.pointed === undefined) this.read(this.points.at(-1));
    this.draw(time);
  }

  /** How much time there is from the left to the right: it grows as there is more to show. */
  get span() {
    return Math.max(SHORTEST_MS, this.points.at(-1)[0] - this.points[0][0]);
  }

  draw(time) {
    const span = this.span;
    const highest = Math.max(...this.points.map(([, number]) => number ?? 0));
    const scale = highest > 0 ? (HEIGHT - 6) / highest : 0;
    const place = ([at, number]) => [WIDTH * (1 - (time - at) / span), HEIGHT - 1 - number * scale];
    let curve = "";
    let area = "";
    for (const run of runs(this.points)) {
      const places = run.map(place).map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`);
      const [first] = places[0].split(",");
      const [last] = places.at(-1).split(",");
      curve += `M${places.join("L")}`;
      area += `M${first},${HEIGHT}L${places.join("L")}L${last},${HEIGHT}Z`;
    }
    this.curve.setAttribute("d", curve);
    this.area.setAttribute("d", area);
    say(this.top, highest > 0 ? this.form(highest) : "");
  }

  read([time, number], isPast = false) {
    say(this.now, number === null ? "–" : this.form(number));
    if (isPast) say(this.note, `at ${clock(time)}`);
    else if (this.pointed === undefined) say(this.note, this.remark ?? "");
  }

  pointAt(event, drawing) {
    if (!this.points.length) return;
    const box = drawing.getBoundingClientRect();
    const wanted = Date.now() - this.span * (1 - (event.clientX - box.left) / box.width);
    const distance = ([at]) => Math.abs(at - wanted);
    this.pointed = this.points.reduce((best, each) => (distance(each) < distance(best) ? each : best));
    const x = WIDTH * (1 - (Date.now() - this.pointed[0]) / this.span);
    this.cross.setAttribute("d", `M${x.toFixed(1)},0V${HEIGHT}`);
    this.read(this.pointed, true);
  }

  leave() {
    this.pointed = undefined;
    this.cross.setAttribute("d", "");
    if (this.points.length) this.read(this.points.at(-1));
  }
}

/** The points cut where a number is missing. */
function* runs(points) {
  let run = [];
  for (const point of points) {
    if (point[1] !== null) run.push(point);
    else if (run.length) {
      yield run;
      run = [];
    }
  }
  if (run.length) yield run;
}
