// How many records go along the edges: from what the tasks say of their positions.

const WINDOW_MS = 10_000;

const key = (topic, node) => `${topic}\u0000${node}`;

export class Flow {
  constructor() {
    this.samples = new Map(); // topic and source → [[time, sum of positions], …]
    this.lags = new Map();
    this.written = new Map(); // topic and sink → the same, of records
  }

  /** Takes the tasks of now. */
  read(tasks, now = Date.now()) {
    const sums = new Map();
    this.lags = new Map();
    for (const input of tasks.flatMap((task) => task.inputs)) {
      const edge = key(input.topic, input.source);
      if (input.position !== null) sums.set(edge, (sums.get(edge) ?? 0) + input.position);
      if (input.lag !== null) this.lags.set(edge, (this.lags.get(edge) ?? 0) + input.lag);
    }
    for (const [edge, sum] of sums) sample(this.samples, edge, sum, now);
  }

  /** Takes what the metrics say of sinks. */
  write(metrics, now = Date.now()) {
    const sums = new Map();
    for (const { name, tags, value } of metrics) {
      if (name !== "records-produced-total" || tags.topic === undefined) continue;
      const edge = key(tags.topic, tags["processor-node-id"]);
      sums.set(edge, (sums.get(edge) ?? 0) + value);
    }
    for (const [edge, sum] of sums) sample(this.written, edge, sum, now);
  }

  /** Of a source that reads a topic; null if it isn't known. */
  readRate = (topic, node) => rateOf(this.samples.get(key(topic, node)));
  writeRate = (topic, node) => rateOf(this.written.get(key(topic, node)));
  lag = (topic, node) => this.lags.get(key(topic, node)) ?? null;
}

function sample(samples, edge, sum, now) {
  const known = samples.get(edge) ?? [];
  // Positions go back only when the application is another one.
  if (known.length && known.at(-1)[1] > sum) known.length = 0;
  known.push([now, sum]);
  while (known.length > 2 && known[0][0] < now - WINDOW_MS) known.shift();
  samples.set(edge, known);
}

function rateOf(samples) {
  if (samples === undefined || samples.length < 2) return null;
  const [first, last] = [samples[0], samples.at(-1)];
  return ((last[1] - first[1]) / (last[0] - first[0])) * 1000;
}
