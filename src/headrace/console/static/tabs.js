// The tabs: the address has which one is open (#stores/counts), so that it can be kept and sent.

import { byId } from "./elements.js";

const tabs = [...document.querySelectorAll("[role=tab]")];
const nameOf = (tab) => tab.getAttribute("aria-controls");

let opened = () => {};

function open() {
  const [name, ...rest] = decode(location.hash.slice(1)).split("/");
  const chosen = tabs.find((tab) => nameOf(tab) === name) ?? tabs[0];
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    byId(nameOf(tab)).hidden = tab !== chosen;
  }
  opened(nameOf(chosen), rest.join("/"));
}

/** `action(name, rest)` is called for each tab that is shown; `rest` is behind the slash. */
export function start(action) {
  opened = action;
  for (const [at, tab] of tabs.entries()) {
    tab.addEventListener("click", () => go(nameOf(tab)));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = tabs.at(to % tabs.length);
      next.focus();
      go(nameOf(next));
    });
  }
  addEventListener("popstate", open); // somebody goes back, or writes another address
  open();
}

export function go(name, rest = "") {
  // To set the hash itself would take the focus away from where it is.
  history.pushState(null, "", `#${rest ? `${name}/${encodeURIComponent(rest)}` : name}`);
  open();
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
