// Statements and queries, as the server takes them.

import { lines, post } from "./api.js";

const STATEMENT_MS = 60_000; // it may have to wait for other servers
const DELIMITED = "application/vnd.ksqlapi.delimited.v1";

/** The entities that statements are answered with. */
export const execute = (ksql, { properties, variables } = NOTHING_SET) =>
  post("/ksql", { ksql, streamsProperties: properties, sessionVariables: variables }, STATEMENT_MS);

/** The lines that a query is answered with. */
export const answer = (sql, { properties, variables }, signal) =>
  lines("/query-stream", { sql, properties, sessionVariables: variables }, DELIMITED, signal);

/** A name, in SQL. */
export const quoted = (name) => `\`${name.replaceAll("`", "``")}\``;

const NOTHING_SET = { properties: {}, variables: {} };
