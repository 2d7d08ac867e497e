// The console of a ksqlDB server: an editor for SQL, and the topologies of its queries.

import { askOurselves, get } from "./api.js";
import * as catalogue from "./catalogue.js";
import * as connection from "./connection.js";
import * as editor from "./editor.js";
import { byId, say } from "./elements.js";
import * as login from "./login.js";
import { Poll } from "./poll.js";
import * as query from "./query.js";
import * as tabs from "./tabs.js";
import * as theme from "./theme.js";

let hasSeen = false;

// The first says whether anybody is there at all.
const info = new Poll(() => get("/info"), 1_000, showInfo, lose);
const lists = new Poll(catalogue.lists, 4_000, showLists, catalogue.fail);

function showInfo({ KsqlServerInfo: server }) {
  if (connection.isLost()) {
    connection.comeBack();
    connection.notice("");
    lists.start();
  }
  hasSeen = true;
  say(byId("state"), server.serverStatus);
  byId("state").dataset.state = server.serverStatus;
  const facts = [`service ${server.ksqlServiceId}`, `cluster ${server.kafkaClusterId}`, `Headrace ${server.version}`];
  say(byId("facts"), facts.join(" · "));
}

function showLists(found) {
  catalogue.show(found);
  query.know(found.queries);
}

function lose(error) {
  if (error.status === 401) return; // the login asks
  lists.stop();
  connection.lose(error, "server", hasSeen);
}

function opened(name, rest) {
  if (name === "query") query.open(rest);
}

askOurselves();
theme.start();
editor.start(() => lists.ask());
query.start();
login.start("/info", authorization, () => {
  info.ask();
  lists.ask();
});
info.start();
lists.start();
tabs.start(opened);

function authorization({ user, password }) {
  if (!user) return `Bearer ${password}`;
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}
