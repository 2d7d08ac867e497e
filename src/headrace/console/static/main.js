// The console: asks the application how it is, and shows it.

import { get, post } from "./api.js";
import { Chart } from "./chart.js";
import * as configuration from "./configuration.js";
import * as connection from "./connection.js";
import { byId, say } from "./elements.js";
import * as errors from "./errors.js";
import { Flow } from "./flow.js";
import { Graph } from "./graph.js";
import { Inspector, topicOf } from "./inspector.js";
import * as login from "./login.js";
import { Poll } from "./poll.js";
import * as stores from "./stores.js";
import * as tabs from "./tabs.js";
import * as tasks from "./tasks.js";
import * as theme from "./theme.js";
import { brief, count, milliseconds, plural, rate, span } from "./words.js";

const known = { state: null, topology: null, tasks: [], metrics: [], flow: new Flow(), records: null };
let picked = null;
let drawn = null; // which run of which application the topology was drawn for

const charts = {
  rate: new Chart("Throughput", rate),
  lag: new Chart("Lag", count),
  batch: new Chart("Batch", milliseconds),
  latency: new Chart("End to end", milliseconds),
};
const graph = new Graph((shape) => {
  const before = picked;
  picked = shape;
  follow();
  inspector.show(picked, known);
  if (shape === null && before !== null) byId(`shape ${before.id}`)?.focus();
});
const inspector = new Inspector(() => graph.pick(null));

// What is asked, and how often. The state says whether anybody is there at all.

const polls = {
  state: new Poll(() => get("/v1/state"), 1_000, showState, lose),
  tasks: new Poll(() => get("/v1/tasks"), 2_000, showTasks),
  errors: new Poll(() => get("/v1/errors"), 3_000, showErrors),
  metrics: new Poll(() => get("/v1/metrics"), 4_000, showMetrics),
  records: new Poll(() => get(`/v1/topics/${encodeURIComponent(known.records.topic)}/records`), 5_000, showRecords, failRecords),
  letters: new Poll(() => get("/v1/dead-letters"), 5_000, errors.showDeadLetters, errors.failDeadLetters),
};

const OTHERS = [polls.tasks, polls.errors, polls.metrics];

function showState(state) {
  const before = known.state;
  known.state = state;
  if (connection.isLost()) comeBack();
  document.title = `${state.application_id} · Headrace`;
  say(byId("application"), state.application_id);
  const shown = state.paused && state.state === "RUNNING" ? "PAUSED" : state.state;
  say(byId("state"), shown);
  byId("state").dataset.state = shown;
  const facts = [plural(state.records_total, "record"), plural(state.batches, "batch", "batches"), `up ${span(state.uptime_ms / 1000)}`, `Headrace ${state.version}`];
  say(byId("facts"), facts.join(" · "));
  const pause = byId("pause");
  pause.hidden = !["RUNNING", "REBALANCING"].includes(state.state);
  say(pause, state.paused ? "Resume" : "Pause");
  charts.rate.add(state.rate);
  charts.lag.add(state.lag);
  charts.batch.remark = state.batches ? `no. ${count(state.batches)}` : "none yet";
  charts.batch.add(state.batches ? state.batch_ms : null);
  tasks.showRestoring(state.restoring);
  notice(state);
  const isNewRun = before === null || before.application_id !== state.application_id || state.uptime_ms < before.uptime_ms;
  if (isNewRun) {
    known.flow = new Flow();
    drawn = null;
  }
  if (drawn === null) draw();
}

function notice(state) {
  const restoring = state.restoring.length
    ? `Restoring ${plural(state.restoring.length, "store partition")}: ${restored(state.restoring)} of their records. Progress is under Tasks.`
    : "";
  connection.notice(state.last_error || restoring || state.reason || "", state.last_error ? "bad" : "busy");
}

function restored(stores) {
  const sum = (of) => stores.reduce((total, store) => total + of(store), 0);
  const all = sum((store) => store.end - store.start);
  return `${Math.floor((100 * sum((store) => store.offset - store.start)) / Math.max(1, all))}%`;
}

async function draw() {
  drawn = known.state.uptime_ms;
  try {
    const [topology, picture] = await Promise.all([get("/v1/topology"), get("/v1/topology/picture")]);
    known.topology = topology.data;
    graph.draw(picture.data);
    graph.show(known.flow);
  } catch {
    drawn = null; // the next answer about the state tries again
  }
}

function showTasks(data) {
  known.tasks = data.tasks;
  tasks.show(data.tasks);
  known.flow.read(data.tasks);
  showFlow();
}

function showMetrics(data) {
  known.metrics = data.metrics;
  known.flow.write(data.metrics);
  const latencies = data.metrics.filter(({ name, value }) => name === "record-e2e-latency-avg" && Number.isFinite(value));
  charts.latency.remark = latencies.length ? "average" : "not measured yet";
  charts.latency.add(latencies.length ? Math.max(...latencies.map(({ value }) => value)) : null);
  showFlow();
}

function showFlow() {
  graph.show(known.flow);
  if (picked !== null && known.topology !== null) inspector.show(picked, known);
}

/** Asks for the records of the topic that was picked, as long as it is seen. */
function follow() {
  const topic = open[0] === "topology" && picked !== null ? topicOf(picked, known.topology) : null;
  if (topic === (known.records?.topic ?? null)) return;
  polls.records.stop();
  known.records = topic === null ? null : { topic, found: null, error: null };
  if (topic !== null) polls.records.start();
}

function showRecords({ topic, records }) {
  if (topic !== known.records?.topic) return; // another one was picked meanwhile
  known.records = { topic, found: records, error: null };
  inspector.show(picked, known);
}

function failRecords(error) {
  if (known.records === null) return;
  known.records.error = error;
  inspector.show(picked, known);
}

function showErrors(data) {
  errors.showFailures(data);
  say(byId("tab-errors"), data.errors.length ? `Errors (${brief(data.errors.length)})` : "Errors");
  byId("tab-errors").classList.toggle("bad", data.errors.length > 0);
}

// The connection

function lose(error) {
  if (error.status === 401) return; // the login asks
  for (const poll of [...OTHERS, polls.records]) poll.stop(); // one question is enough to find out that it is back
  known.records = null;
  for (const chart of Object.values(charts)) chart.add(null);
  connection.lose(error, "application", known.state !== null);
}

function comeBack() {
  connection.comeBack();
  for (const poll of OTHERS) poll.start();
  follow();
  refreshPanel();
}

// Tabs

let open = ["topology", ""];

function refreshPanel() {
  const [name, rest] = open;
  if (name === "stores") stores.load(rest);
  if (name === "configuration") configuration.load();
}

function opened(name, rest) {
  open = [name, rest];
  follow();
  if (name === "errors") polls.letters.start();
  else polls.letters.stop();
  refreshPanel();
}

async function togglePause() {
  const button = byId("pause");
  button.disabled = true;
  try {
    showState(await post(known.state.paused ? "/v1/resume" : "/v1/pause"));
  } catch (error) {
    connection.notice(error.message);
  } finally {
    button.disabled = false;
  }
}

theme.start();
byId("charts").replaceChildren(...Object.values(charts).map((chart) => chart.element));
byId("topology").replaceChildren(graph.element, inspector.element);
byId("pause").addEventListener("click", togglePause);
tasks.start();
stores.start();
errors.start();
configuration.start();
login.start("/v1/state", ({ token }) => `Bearer ${token}`, () => {
  for (const poll of Object.values(polls)) if (poll.isOn) poll.ask();
  refreshPanel();
});
for (const poll of [polls.state, ...OTHERS]) poll.start();
tabs.start(opened);
