import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.*;

/**
 * The yardstick: the topologies of topologies.py on Kafka Streams itself.
 *
 * <p>KafkaStreamsBench SERVERS MODE TOPIC RECORDS GUARANTEE [name=value …] processes all records, and
 * prints a line of JSON. KEEP_RUNNING=SECONDS in the environment keeps it running after that.
 */
public class KafkaStreamsBench {
  static final ObjectMapper MAPPER = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    String servers = args[0], mode = args[1], input = args[2], guarantee = args[4];
    long total = Long.parseLong(args[3]);
    String app = "yardstick-" + mode + "-" + System.currentTimeMillis();
    String out = app + "-out";
    Properties p = new Properties();
    p.put("application.id", app);
    p.put("bootstrap.servers", servers);
    p.put("processing.guarantee", guarantee);
    p.put("num.stream.threads", "2");
    p.put("replication.factor", "1");
    p.put("auto.offset.reset", "earliest");
    p.put("state.dir", System.getProperty("java.io.tmpdir") + "/" + app);
    p.put("producer.compression.type", "lz4");
    p.put("producer.linger.ms", "20");
    for (int i = 5; i < args.length; i++) {
      String[] setting = args[i].split("=", 2);
      p.put(setting[0], setting[1]);
    }
    try (var admin = Admin.create(p)) {
      admin.createTopics(List.of(new NewTopic(out, 4, (short) 1))).all().get();
    }

    AtomicLong seen = new AtomicLong();
    KafkaStreams streams = new KafkaStreams(topology(mode, input, out, seen).build(), p);
    long t0 = System.nanoTime();
    streams.start();
    while (seen.get() == 0) Thread.sleep(5);
    long t1 = System.nanoTime(), n1 = seen.get(), half = 0, th = 0;
    while (seen.get() < total) {
      Thread.sleep(5);
      if (half == 0 && seen.get() >= total / 2) {
        half = seen.get();
        th = System.nanoTime();
      }
    }
    long t2 = System.nanoTime();
    System.out.printf(
        "{\"engine\":\"kafka-streams\",\"mode\":\"%s\",\"startup_s\":%.2f,\"rate\":%.0f,"
            + "\"rate_second_half\":%.0f,\"out\":\"%s\"}%n",
        mode, (t1 - t0) / 1e9, (total - n1) / ((t2 - t1) / 1e9),
        (total - half) / ((t2 - th) / 1e9), out);
    if (System.getenv("KEEP_RUNNING") != null)
      Thread.sleep(Long.parseLong(System.getenv("KEEP_RUNNING")) * 1000);
    streams.close(Duration.ofSeconds(10));
  }

  static StreamsBuilder topology(String mode, String input, String out, AtomicLong seen) {
    Serde<String> text = Serdes.String();
    Serde<JsonNode> json = Serdes.serdeFrom((t, d) -> write(d), (t, d) -> read(d));
    StreamsBuilder b = new StreamsBuilder();
    KStream<String, JsonNode> s =
        b.stream(input, Consumed.with(text, json)).peek((k, v) -> seen.incrementAndGet());
    switch (mode) {
      case "map" -> s.filter((k, v) -> v.get("amount").asDouble() > 5)
          .mapValues(v -> (JsonNode) ((ObjectNode) v).put("card", "xxxx"))
          .to(out, Produced.with(text, json));
      case "count" -> s.groupByKey(Grouped.with(text, json)).count(Materialized.as("counts"))
          .toStream().to(out, Produced.with(text, Serdes.Long()));
      case "window" -> s.groupByKey(Grouped.with(text, json))
          .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(5)))
          .count(Materialized.as("counts"))
          .toStream((w, v) -> w.key() + "@" + w.window().start())
          .to(out, Produced.with(text, Serdes.Long()));
      case "regroup" -> s.groupBy((k, v) -> v.get("user").asText(), Grouped.with(text, json))
          .count(Materialized.as("counts"))
          .toStream().to(out, Produced.with(text, Serdes.Long()));
      case "join" -> s.join(
              b.table(input + "-users", Consumed.with(text, json)),
              (l, r) -> (JsonNode) ((ObjectNode) l).set("profile", r),
              Joined.with(text, json, json))
          .to(out, Produced.with(text, json));
      default -> throw new IllegalArgumentException(mode);
    }
    return b;
  }

  static byte[] write(JsonNode value) {
    try {
      return value == null ? null : MAPPER.writeValueAsBytes(value);
    } catch (Exception e) {
      throw new RuntimeException(e);
    }
  }

  static JsonNode read(byte[] data) {
    try {
      return data == null ? null : MAPPER.readTree(data);
    } catch (Exception e) {
      throw new RuntimeException(e);
    }
  }
}
