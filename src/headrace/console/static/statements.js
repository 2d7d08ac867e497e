// Where the statements of a text begin and end.

const PARTS = /--.*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|;|\w+|\S/g;

/** The statements, with their semicolons. What comes after the last one is a statement as well: the server says what
 * it lacks. */
export function statements(text) {
  const found = [];
  let start = null;
  let end = null;
  for (const { 0: part, index } of text.matchAll(PARTS)) {
    if (part.startsWith("--") || part.startsWith("/*")) continue;
    start ??= index;
    end = index + part.length;
    if (part !== ";") continue;
    if (start !== index) found.push(text.slice(start, end));
    start = null;
  }
  if (start !== null) found.push(text.slice(start, end));
  return found;
}

/** Its first word, in upper case. */
export const kind = (statement) => /^\w*/.exec(statement)[0].toUpperCase();

/** The line that an error speaks of, in three parts: the one in the middle is to blame. Null if it speaks of none. */
export function place(message, statement) {
  const found = /\bline:? (\d+)(?::|, col: )(\d+)/i.exec(message);
  const line = found && statement.split("\n")[found[1] - 1];
  if (line === null || line === undefined) return null;
  const column = found[2] - 1;
  const word = /^[\w.]+|^./.exec(line.slice(column))?.[0] ?? " ";
  return [line.slice(0, column), word, line.slice(column + word.length)];
}
