import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.*;

/**
 * The topology of topology.py beside this file, run by Kafka Streams until standard input ends.
 *
 * <p>Arguments: bootstrap servers, application id, input topic, output topic, state directory.
 */
public class TakeoverApp {
  public static void main(String[] args) throws Exception {
    Properties config = new Properties();
    config.put("bootstrap.servers", args[0]);
    config.put("application.id", args[1]);
    config.put("state.dir", args[4]);
    config.put("processing.guarantee", "exactly_once_v2");
    config.put("replication.factor", "1");
    config.put("auto.offset.reset", "earliest");
    config.put("statestore.cache.max.bytes", "0");
    // close() doesn't leave the group: the least that a broker allows, so that tests are short.
    config.put("main.consumer.session.timeout.ms", "6000");
    config.put("main.consumer.heartbeat.interval.ms", "1000");

    StreamsBuilder builder = new StreamsBuilder();
    var text = Serdes.String();
    var produced = Produced.with(text, text);
    KStream<String, String> stream = builder.stream(args[2], Consumed.with(text, text));
    KGroupedStream<String, String> byKey = stream.groupByKey(Grouped.with(text, text));
    byKey.count(Materialized.as("counts"))
        .toStream()
        .mapValues(count -> "count=" + count)
        .to(args[3], produced);
    byKey.windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1)))
        .count(Materialized.as("per-minute"))
        .toStream((key, count) -> key.key() + "@" + key.window().start())
        .mapValues(count -> "minute=" + count)
        .to(args[3], produced);
    byKey.windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofSeconds(20)))
        .count(Materialized.as("sessions"))
        .toStream((key, count) -> key.key() + "@" + key.window().start() + "/" + key.window().end())
        .mapValues(count -> count == null ? null : "session=" + count)
        .to(args[3], produced);
    stream.groupBy((key, value) -> value, Grouped.with("by-value", text, text))
        .count(Materialized.as("values"))
        .toStream()
        .mapValues(count -> "value=" + count)
        .to(args[3], produced);

    var topology = builder.build();
    System.out.print(topology.describe());
    System.out.flush();
    KafkaStreams streams = new KafkaStreams(topology, config);
    streams.setUncaughtExceptionHandler(
        error -> {
          error.printStackTrace();
          return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    streams.start();
    System.in.read();
    boolean inOrder = streams.state() == KafkaStreams.State.RUNNING;
    System.exit(streams.close(Duration.ofSeconds(20)) && inOrder ? 0 : 1);
  }
}
