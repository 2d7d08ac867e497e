// Talks to the application. An answer that hasn't changed isn't sent again (ETag).

const TOKEN = "headrace.token";
const PATIENCE_MS = 10_000;

/** The application has answered that something is wrong: RFC 9457. */
export class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `Status ${status}`);
    this.status = status;
    this.title = problem.title ?? `Status ${status}`;
    this.hint = problem.hint ?? null;
  }
}

/** Nobody answers. */
export class Unreachable extends Error {}

const known = new Map(); // path → {tag, data}

/** What to do when a token is asked for; set by the login. */
let refused = () => {};
export const onRefused = (action) => {
  refused = action;
};

export const setToken = (token) => sessionStorage.setItem(TOKEN, token);

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

export async function post(path) {
  const response = await ask(path, "POST", {});
  return parse(await read(response), response.status);
}

async function ask(url, method, headers) {
  const token = sessionStorage.getItem(TOKEN);
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(url, { method, headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch {
    throw new Unreachable("No answer from the application.");
  }
  if (response.ok || response.status === 304) return response;
  const text = await read(response);
  let problem = {};
  try {
    problem = JSON.parse(text);
  } catch {
    // Not from the application: a proxy, say. Its status is all there is to tell.
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
    throw new Problem(status, { title: "Not JSON", detail: "The answer is not of a Headrace application." });
  }
}
