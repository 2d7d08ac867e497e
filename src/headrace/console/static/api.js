// Talks to the server that the page is from. An answer that hasn't changed isn't sent again (ETag).

const AUTHORIZATION = "headrace.authorization";
const PATIENCE_MS = 10_000;

/** The server has answered that something is wrong: as RFC 9457, or as ksqlDB does. */
export class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.message ?? problem.title ?? `Status ${status}`);
    this.status = status;
    this.title = problem.title ?? `Status ${status}`;
    this.hint = problem.hint ?? null;
  }
}

/** Nobody answers. */
export class Unreachable extends Error {}

const known = new Map(); // path → {tag, data}

/** What to do when the server asks who we are; set by the login. */
let refused = () => {};
export const onRefused = (action) => {
  refused = action;
};

/** Where users have passwords, browsers would ask for them in a window of their own, and send what they remember. */
let credentials = "same-origin";
export const askOurselves = () => {
  credentials = "omit";
};

/** Goes with every request, until the tab is closed. */
export const setAuthorization = (text) => sessionStorage.setItem(AUTHORIZATION, text);

/** {data, size} of a path; `size` is in bytes, 0 if nothing has changed. */
export async function get(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  const url = query ? `${path}?${query}` : path;
  const before = query ? undefined : known.get(path);
  const response = await ask(url, "GET", before ? { "If-None-Match": before.tag } : {});
  if (response.status === 304) return { data: before.data, size: 0 };
  const text = await read(response);
  const data = parse(text, response.status);
  const tag = response.headers.get("ETag");
  if (tag !== null && !query) known.set(path, { tag, data });
  return { data, size: text.length };
}

export async function post(path, body, patienceMs = PATIENCE_MS) {
  const response = await ask(path, "POST", {}, body, AbortSignal.timeout(patienceMs));
  return parse(await read(response), response.status);
}

/** The lines of an answer, as they come, until `signal` ends it. */
export async function* lines(path, body, accept, signal) {
  const response = await ask(path, "POST", { Accept: accept }, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      yield* parts;
    }
  } catch {
    throw new Unreachable("The answer broke off.");
  } finally {
    reader.cancel().catch(() => {}); // who reads no further wants no more of it
  }
  if (rest) yield rest;
}

async function ask(url, method, headers, body, signal = AbortSignal.timeout(PATIENCE_MS)) {
  const authorization = sessionStorage.getItem(AUTHORIZATION);
  if (authorization !== null) headers.Authorization = authorization;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, { method, headers, body: JSON.stringify(body), cache: "no-store", credentials, signal });
  } catch {
    throw new Unreachable("No answer from the server.");
  }
  if (response.ok || response.status === 304) return response;
  const text = await read(response);
  let problem = {};
  try {
    problem = JSON.parse(text);
  } catch {
    // Not from our server: a proxy, say. Its status is all there is to tell.
  }
  if (response.status === 401) refused();
  throw new Problem(response.status, problem);
}

async function read(response) {
  try {
    return await response.text();
  } catch {
    throw new Unreachable("The answer broke off.");
  }
}

function parse(text, status) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(status, { title: "Not JSON", detail: "The answer is not of a Headrace server." });
  }
}
