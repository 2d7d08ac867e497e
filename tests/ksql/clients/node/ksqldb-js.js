// The client ksqldb-js: what it is answered, as JSON on one line.
const Ksqldb = require("ksqldb-js");

async function main(port) {
  const client = new Ksqldb({ ksqldbURL: `http://127.0.0.1:${port}` });
  const said = {};
  await client.createStream("clicks", ["user STRING KEY", "page INT"], "clicks", "json", 1);
  said.table = await client.ksql(
    "CREATE TABLE counts AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;"
  );
  said.rows = [];
  const seen = new Promise((resolve) => {
    client
      .push("SELECT user, page FROM clicks EMIT CHANGES;", (chunk) => {
        said.rows.push(JSON.parse(chunk));
        if (said.rows.length === 4) resolve();
      })
      .then((id) => {
        said.id = id;
        return client.insertStream("clicks", [
          { user: "anna", page: 1 },
          { user: "anna", page: 2 },
          { user: "anna", page: 3 },
        ]);
      })
      .then((acks) => (said.acks = acks));
  });
  await seen;
  do {
    said.pull = await client.pull("SELECT * FROM counts WHERE user = 'anna';");
  } while (!(said.pull[1] && said.pull[1][1] === 3));
  said.terminated = await client.terminate(said.id);
  said.error = await client.ksql("DROP STREAM nothing;").catch((error) => error.message);
  console.log(JSON.stringify(said));
}

main(Number(process.argv[2])).catch((error) => {
  console.error(error);
  process.exit(1);
});
