// The topology, drawn where the server says, with what flows along its edges.

import { html, remark, say, svg } from "./elements.js";
import { brief, rate } from "./words.js";

const MARGIN = 12;
const ZOOM = 1.25;
const CHIP = 56; // the width of what stands on an edge
const LARGEST = 1.2; // small topologies aren't blown up,
const SMALLEST = 0.75; // and large ones begin so that they can be read

export class Graph {
  /** `choose(shape or null)` is called when somebody picks a shape. */
  constructor(choose) {
    this.choose = choose;
    this.chosen = null;
    this.drawing = svg("svg", { class: "graph", role: "group", "aria-label": "Topology" });
    this.drawing.addEventListener("keydown", (event) => this.onKey(event));
    this.drawing.addEventListener("click", (event) => {
      if (event.target === this.drawing && !this.moved) this.pick(null);
    });
    this.drawing.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.drawing.addEventListener("pointerdown", (event) => this.onDrag(event));
    const button = (label, title, action) => html("button", { type: "button", title, "aria-label": title, onclick: action }, label);
    this.element = html(
      "div",
      { class: "canvas" },
      remark("Loading the topology …"),
    );
    this.tools = html(
      "div",
      { class: "zoom" },
      button("+", "Larger", () => this.zoom(1 / ZOOM)),
      button("−", "Smaller", () => this.zoom(ZOOM)),
      button("Fit", "The whole topology", () => this.fit()),
    );
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  draw(picture) {
    this.picture = picture;
    this.shapes = new Map(picture.shapes.map((shape) => [shape.id, { shape, element: this.shape(shape) }]));
    this.labels = [];
    const frames = picture.frames.map((frame) =>
      svg("g", { class: "part" }, svg("rect", at(frame, 8)), svg("text", { x: frame.x + 12, y: frame.y + 17 }, frame.label[0])),
    );
    const lines = picture.lines.map((line) => this.line(line));
    this.drawing.replaceChildren(
      svg("defs", {}, arrow()),
      ...frames,
      ...lines,
      ...[...this.shapes.values()].map(({ element }) => element),
      ...this.labels.map(({ element }) => element),
    );
    this.element.replaceChildren(...(picture.shapes.length ? [this.drawing, this.tools] : [remark("The topology is empty.")]));
    this.stop(picture.shapes.find((shape) => shape.kind === "topic")?.id);
    this.mark();
    this.begin();
  }

  shape(shape) {
    const middle = shape.x + shape.width / 2;
    const first = shape.y + shape.height / 2 - (shape.label.length - 1) * 7 + (shape.kind === "store" ? 3 : 0);
    return svg(
      "g",
      {
        class: `shape ${shape.kind}`,
        id: `shape ${shape.id}`,
        tabindex: "-1",
        role: "button",
        "aria-label": `${shape.kind} ${shape.name}`,
        onclick: () => this.moved || this.pick(shape.id),
      },
      svg("title", {}, shape.name),
      shape.kind === "store" ? svg("path", { d: cylinder(shape) }) : svg("rect", at(shape, ROUND[shape.kind] ?? shape.height / 2)),
      shape.label.map((line, number) => svg("text", { x: middle, y: first + number * 14 }, line)),
    );
  }

  line(line) {
    const path = svg("path", { class: `line ${line.kind}`, d: line.path, "marker-end": line.kind === "use" ? null : "url(#arrow)" });
    path.dataset.start = line.start;
    path.dataset.end = line.end;
    if (line.kind === "read" || line.kind === "write") {
      const above = svg("text", { x: line.x, class: "rate" });
      const below = svg("text", { x: line.x, y: line.y + 6, class: "lag" });
      const ground = svg("rect", { x: line.x - CHIP / 2, width: CHIP, rx: 6 });
      const element = svg("g", { class: "chip", "aria-hidden": "true" }, ground, above, below);
      this.labels.push({ line, path, above, below, ground, element });
    }
    return path;
  }

  /** Writes rates and lags at the edges. */
  show(flow) {
    if (!this.picture) return;
    const nameOf = (id) => this.shapes.get(id).shape.name;
    for (const { line, path, above, below, ground, element } of this.labels) {
      const isRead = line.kind === "read";
      const [topic, node] = isRead ? [line.start, line.end] : [line.end, line.start];
      const now = isRead ? flow.readRate(nameOf(topic), nameOf(node)) : flow.writeRate(nameOf(topic), nameOf(node));
      const lag = isRead ? flow.lag(nameOf(topic), nameOf(node)) : null;
      say(above, now === null ? "" : now < 1000 ? rate(now) : `${brief(now)}/s`);
      say(below, lag === null ? "" : `lag ${brief(lag)}`);
      below.classList.toggle("behind", lag > 0);
      const height = lag === null ? 15 : 27;
      above.setAttribute("y", lag === null ? line.y : line.y - 6);
      ground.setAttribute("y", line.y - height / 2);
      ground.setAttribute("height", height);
      element.toggleAttribute("hidden", now === null && lag === null);
      path.classList.toggle("flowing", now > 0);
    }
  }

  pick(id) {
    this.chosen = id;
    if (id !== null) this.stop(id);
    this.mark();
    this.choose(id === null ? null : this.shapes.get(id).shape);
  }

  mark() {
    if (this.chosen !== null && !this.shapes.has(this.chosen)) this.chosen = null;
    for (const [id, { element }] of this.shapes) {
      element.classList.toggle("chosen", id === this.chosen);
      element.setAttribute("aria-pressed", String(id === this.chosen));
    }
    for (const path of this.drawing.querySelectorAll(".line")) {
      path.classList.toggle("chosen", this.chosen !== null && [path.dataset.start, path.dataset.end].includes(this.chosen));
    }
  }

  // The keyboard: one stop for the Tab key, arrows go to the next shape in their direction.

  stop(id) {
    for (const [each, { element }] of this.shapes) element.setAttribute("tabindex", each === id ? "0" : "-1");
  }

  onKey(event) {
    const id = event.target.id?.startsWith("shape ") ? event.target.id.slice("shape ".length) : null;
    if (event.key === "Escape") this.pick(null);
    else if (id !== null && (event.key === "Enter" || event.key === " ")) this.pick(id);
    else if (id !== null && event.key in DIRECTIONS) this.goOn(id, DIRECTIONS[event.key]);
    else return;
    event.preventDefault();
  }

  goOn(id, [dx, dy]) {
    const from = middle(this.shapes.get(id).shape);
    let best = null;
    let shortest = Infinity;
    for (const [each, { shape }] of this.shapes) {
      const [x, y] = [middle(shape)[0] - from[0], middle(shape)[1] - from[1]];
      const ahead = x * dx + y * dy;
      const aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (each === id || ahead <= 1) continue;
      const distance = ahead + 2 * aside;
      if (distance < shortest) [best, shortest] = [each, distance];
    }
    if (best === null) return;
    this.stop(best);
    this.reveal(this.shapes.get(best).shape);
    this.shapes.get(best).element.focus({ preventScroll: true });
  }

  // Size and place. `view` is what is seen of the picture: x, y, width and height.

  /** The whole picture. */
  fit() {
    const box = this.element.getBoundingClientRect();
    if (!this.picture || !box.width) return;
    const [width, height] = [this.picture.width + 2 * MARGIN, this.picture.height + 2 * MARGIN];
    const scale = Math.max(width / box.width, height / box.height, 1 / LARGEST);
    const [shownWidth, shownHeight] = [box.width * scale, box.height * scale];
    this.look((width - shownWidth) / 2 - MARGIN, (height - shownHeight) / 2 - MARGIN, shownWidth, shownHeight);
    this.isChanged = false;
  }

  /** The whole picture if it can be read then, else its first part. */
  begin() {
    this.fit();
    const box = this.element.getBoundingClientRect();
    const [width, height] = [box.width / SMALLEST, box.height / SMALLEST];
    if (this.view && this.view[2] > width) this.look(-MARGIN, Math.min(-MARGIN, (this.picture.height - height) / 2), width, height);
  }

  /** What somebody has moved or zoomed stays where it is. */
  resize() {
    if (!this.isChanged) return this.begin();
    const box = this.element.getBoundingClientRect();
    const [x, y, width] = this.view;
    if (box.width) this.look(x, y, width, (width * box.height) / box.width);
  }

  look(x, y, width, height) {
    this.view = [x, y, width, height];
    this.drawing.setAttribute("viewBox", this.view.map((number) => number.toFixed(1)).join(" "));
  }

  zoom(by, [px, py] = [0.5, 0.5]) {
    const [x, y, width, height] = this.view;
    this.isChanged = true;
    this.look(x + width * (1 - by) * px, y + height * (1 - by) * py, width * by, height * by);
  }

  move(dx, dy) {
    const [x, y, width, height] = this.view;
    this.isChanged = true;
    this.look(x + dx, y + dy, width, height);
  }

  /** Moves the picture so far that a shape is seen. */
  reveal(shape) {
    const [x, y, width, height] = this.view;
    const outside = (low, high, from, size) => Math.min(0, low - MARGIN - from) + Math.max(0, high + MARGIN - from - size);
    const dx = outside(shape.x, shape.x + shape.width, x, width);
    const dy = outside(shape.y, shape.y + shape.height, y, height);
    if (dx || dy) this.move(dx, dy);
  }

  onWheel(event) {
    const box = this.drawing.getBoundingClientRect();
    const [x, y, width, height] = this.view;
    const isWhole = x <= 0 && y <= 0 && x + width >= this.picture.width && y + height >= this.picture.height;
    const isZoom = event.ctrlKey || event.metaKey;
    if (isWhole && !isZoom) return; // then it is the page that is scrolled
    event.preventDefault();
    const scale = width / box.width;
    if (isZoom) this.zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM, [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]);
    else this.move(event.deltaX * scale, event.deltaY * scale);
  }

  onDrag(start) {
    const [x, y, width, height] = this.view;
    const scale = width / this.drawing.getBoundingClientRect().width;
    this.moved = false;
    const drag = (event) => {
      const [dx, dy] = [event.clientX - start.clientX, event.clientY - start.clientY];
      if (!this.moved && Math.hypot(dx, dy) < 4) return;
      this.moved = this.isChanged = true;
      this.look(x - dx * scale, y - dy * scale, width, height);
    };
    const end = () => {
      removeEventListener("pointermove", drag);
      removeEventListener("pointerup", end);
    };
    addEventListener("pointermove", drag);
    addEventListener("pointerup", end);
  }
}

const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
const ROUND = { processor: 5, source: 3, sink: 3 };

const middle = (shape) => [shape.x + shape.width / 2, shape.y + shape.height / 2];

const at = ({ x, y, width, height }, rx) => ({ x, y, width, height, rx });

const arrow = () =>
  svg(
    "marker",
    { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0,0.5 L8,4 L0,7.5 z" }),
  );

function cylinder({ x, y, width, height }) {
  const cap = 5;
  const [right, top, bottom] = [x + width, y + cap, y + height - cap];
  const arc = `A${width / 2},${cap} 0 0`;
  return `M${x},${top} ${arc} 1 ${right},${top} V${bottom} ${arc} 1 ${x},${bottom} Z M${x},${top} ${arc} 0 ${right},${top}`;
}
