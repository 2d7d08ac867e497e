// Light or dark: as the system has it, until somebody says otherwise.

import { byId, say } from "./elements.js";

const CHOICE = "headrace.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const current = () => localStorage.getItem(CHOICE) ?? (system.matches ? "dark" : "light");

function apply() {
  document.documentElement.dataset.theme = current();
  const other = current() === "dark" ? "Light" : "Dark";
  say(byId("theme"), other);
  byId("theme").setAttribute("aria-label", `${other} colours`);
}

export function start() {
  apply();
  system.addEventListener("change", apply);
  byId("theme").addEventListener("click", () => {
    localStorage.setItem(CHOICE, current() === "dark" ? "light" : "dark");
    apply();
  });
}
