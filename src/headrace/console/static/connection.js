// Whether anybody answers, and since when nobody does. The page shows it.

import { Unreachable } from "./api.js";
import { byId, say } from "./elements.js";
import { clock } from "./words.js";

let lostAt = null;

export const isLost = () => lostAt !== null;

/** `who` doesn't answer; `hasSeen` says whether the page shows something of before. */
export function lose(error, who, hasSeen) {
  lostAt ??= Date.now();
  document.body.classList.add("stale");
  byId("state").dataset.state = "LOST";
  say(byId("state"), "NO CONNECTION");
  const what = error instanceof Unreachable ? `No answer from the ${who}` : `The ${who} can't answer (${error.message})`;
  notice(`${what} since ${clock(lostAt)}. Asking again every second.${hasSeen ? " What you see is from before." : ""}`);
}

export function comeBack() {
  lostAt = null;
  document.body.classList.remove("stale");
}

/** A line above everything: something is `bad`, or just `busy`. No text, no line. */
export function notice(text, kind = "bad") {
  const box = byId("notice");
  box.hidden = !text;
  box.className = `notice ${kind}`;
  say(box, text);
}
