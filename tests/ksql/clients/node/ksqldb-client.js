// The client ksqldb-client: what it is answered, as JSON on one line.
const KsqldbClient = require("ksqldb-client");

const STREAM =
  "CREATE STREAM clicks (user STRING KEY, page INT) " +
  "WITH (kafka_topic='clicks', value_format='JSON', partitions=1);";
const TABLE =
  "CREATE TABLE counts AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;";
const EARLIEST = { "auto.offset.reset": "earliest" };

async function main(port) {
  const client = new KsqldbClient({ host: "http://127.0.0.1", port });
  await client.connect();
  const said = {};
  said.stream = await client.executeStatement(STREAM);
  said.table = await client.executeStatement(TABLE, { streamsProperties: EARLIEST });
  said.inserts = [];
  for (const page of [1, 2, 3]) {
    said.inserts.push(await client.insertInto("clicks", { user: "anna", page }));
  }
  said.streams = await client.listStreams();
  said.description = await client.describeSource("counts");
  do {
    said.pull = await client.query("SELECT * FROM counts WHERE user = 'anna';");
  } while (!(said.pull.data.rows[0] && said.pull.data.rows[0].N === 3));
  said.push = [];
  await client.streamQuery(
    "SELECT user, page FROM clicks EMIT CHANGES LIMIT 3;",
    (data) => said.push.push(...(data.rows || [])),
    { properties: EARLIEST }
  );
  said.error = await client.executeStatement("DROP STREAM nothing;");
  await client.disconnect();
  console.log(JSON.stringify(said));
}

main(Number(process.argv[2])).catch((error) => {
  console.error(error);
  process.exit(1);
});
