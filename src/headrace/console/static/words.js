// Numbers, times and values as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

const isKnown = (number) => number !== null && number !== undefined;

export const count = (number) => (isKnown(number) ? whole.format(number) : "–");

/** 1.2K instead of 1,234: for where there is little room. */
export const brief = (number) => (isKnown(number) ? compact.format(number) : "–");

export const rate = (number) =>
  isKnown(number) ? `${(number < 10 ? tenth : whole).format(number)}/s` : "–";

export const milliseconds = (number) =>
  isKnown(number) ? (number < 10_000 ? `${whole.format(number)} ms` : `${tenth.format(number / 1000)} s`) : "–";

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** 3 h 12 min, of seconds. */
export function span(seconds) {
  if (!isKnown(seconds)) return "";
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

const pad = (number, digits = 2) => String(number).padStart(digits, "0");

export function clock(timestamp) {
  const at = new Date(timestamp);
  return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** 2026-11-16 09:05:00, in the time of the browser; milliseconds only if there are any. */
export function moment(timestamp) {
  const at = new Date(timestamp);
  if (Number.isNaN(at.getTime())) return String(timestamp);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const rest = at.getMilliseconds() ? `.${pad(at.getMilliseconds(), 3)}` : "";
  return `${day} ${clock(timestamp)}${rest}`;
}

/** A value of a store: text as it is, the rest as JSON. */
export const value = (data) => (typeof data === "string" ? data : JSON.stringify(data));
