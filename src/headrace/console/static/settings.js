// What SET and DEFINE say holds for all that follows: the page keeps it, as `headrace sql` does.

const TEXT = "'((?:[^']|'')*)'";
const FORMS = [
  ["properties", new RegExp(`^SET\\s+${TEXT}\\s*=\\s*${TEXT}\\s*;$`, "i")],
  ["properties", new RegExp(`^UNSET\\s+${TEXT}\\s*;$`, "i")],
  ["variables", new RegExp(`^DEFINE\\s+(\\w+)\\s*=\\s*${TEXT}\\s*;$`, "i")],
  ["variables", /^UNDEFINE\s+(\w+)\s*;$/i],
];

export const KINDS = ["SET", "UNSET", "DEFINE", "UNDEFINE"];

export class Settings {
  properties = {};
  variables = {};

  /** Keeps what a statement says, which the server has found to be right. Says what is so now. */
  keep(statement) {
    for (const [where, form] of FORMS) {
      const found = form.exec(statement);
      if (found === null) continue;
      const [name, value] = found.slice(1).map((text) => text.replaceAll("''", "'"));
      if (value === undefined) delete this[where][name];
      else this[where][name] = value;
      return value === undefined ? `${name} is no longer set.` : `${name} is ${value}, until this page is closed.`;
    }
    return "This had no effect: write it without comments.";
  }
}
