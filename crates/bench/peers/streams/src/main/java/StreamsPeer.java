import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.state.WindowStore;

/**
 * The digest's work in Kafka Streams: records are gathered per person until the person's window closes, and each
 * closed window leaves as one record. It ends when the outbox holds every person and accounts for every record.
 */
public final class StreamsPeer {
    private static final Duration WINDOW = Duration.ofMinutes(30);
    private static final Serde<byte[]> BYTES = Serdes.ByteArray();
    /** Nobody's key: records under it move the time of their partition on, and their windows never close. */
    private static final byte[] CLOCK = "\0clock".getBytes();

    private final Map<String, String> options;
    private final String name = "streams-peer-" + UUID.randomUUID();
    private final LongAdder read = new LongAdder();
    private final LongAccumulator latest = new LongAccumulator(Math::max, Long.MIN_VALUE);
    /** By {@link System#nanoTime}; 0 until there is one. */
    private final AtomicLong first = new AtomicLong();

    private StreamsPeer(Map<String, String> options) {
        this.options = options;
    }

    public static void main(String[] arguments) throws Exception {
        var options = new HashMap<>(Map.of(
            "threads", "2", "guarantee", StreamsConfig.EXACTLY_ONCE_V2, "closing", "emit", "keep", "512",
            "commit-ms", "10000", "cache-mb", "256", "patience-secs", "60"));
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            options.put(arguments[at].replaceFirst("^--", ""), arguments[at + 1]);
        }
        if (arguments.length % 2 != 0 || !options.keySet().containsAll(List.of("brokers", "from", "to", "records", "persons"))) {
            System.err.println("usage: --brokers HOST:PORT --from TOPIC --to TOPIC --records N --persons P [--threads 2]"
                + " [--guarantee exactly_once_v2|at_least_once] [--closing emit|suppress] [--keep BYTES]"
                + " [--commit-ms MS] [--cache-mb MB] [--patience-secs SECS]");
            System.exit(2);
        }
        System.exit(new StreamsPeer(options).run() ? 0 : 1);
    }

    private boolean run() throws Exception {
        var state = Files.createTempDirectory("streams-peer");
        try (var admin = Admin.create(clients()); var streams = streams(state); var outbox = outbox(admin)) {
            int partitions = partitions(admin, options.get("from"));
            streams.start();
            var told = new Told();
            boolean closing = false;
            var patience = Duration.ofSeconds(number("patience-secs"));
            long moved = System.nanoTime();
            long seen = 0;
            while (!told.all() && System.nanoTime() - moved < patience.toNanos()) {
                outbox.poll(Duration.ofMillis(50)).forEach(told::add);
                if (read.sum() + told.windows != seen) {
                    seen = read.sum() + told.windows;
                    moved = System.nanoTime();
                }
                if (!closing && read.sum() >= number("records")) {
                    closing = true;
                    close(partitions);
                }
            }
            double seconds = (System.nanoTime() - first.get()) / 1e9;
            double cpu = ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO).toMillis() / 1e3;
            streams.close(Duration.ofSeconds(30));
            streams.cleanUp();
            admin.deleteTopics(admin.listTopics().names().get().stream().filter(topic -> topic.startsWith(name)).toList())
                .all().get();
            System.out.printf(Locale.ROOT,
                "{\"records\":%d,\"windows\":%d,\"seconds\":%.3f,\"cpu_seconds\":%.1f,\"records_per_second\":%.0f,\"records_told\":%d,"
                + "\"persons_in\":%d,\"persons_out\":%d,\"guarantee\":\"%s\",\"closing\":\"%s\",\"threads\":%d,"
                + "\"partitions\":%d,\"complete\":%b}%n",
                read.sum(), told.windows, seconds, cpu, number("records") / seconds, told.records, number("persons"),
                told.persons.size(), options.get("guarantee"), options.get("closing"), number("threads"), partitions,
                told.all());
            return told.all();
        } finally {
            try (var left = Files.walk(state)) {
                left.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            }
        }
    }

    private KafkaStreams streams(Path state) {
        var settings = clients();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, options.get("threads"));
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, options.get("guarantee"));
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, options.get("commit-ms"));
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, number("cache-mb") << 20);
        // It looks for closed windows at most once in so many milliseconds, and the clock's records may be the last.
        settings.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION, 0);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 60_000);
        settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 5000);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 5000);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 100);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 << 10);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "lz4");
        var streams = new KafkaStreams(topology(settings), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return null;
        });
        return streams;
    }

    private Topology topology(Properties settings) {
        var builder = new StreamsBuilder();
        int keep = (int) number("keep");
        boolean suppress = options.get("closing").equals("suppress");
        var store = Materialized.<byte[], byte[], WindowStore<Bytes, byte[]>>as("windows")
            .withKeySerde(BYTES).withValueSerde(BYTES).withCachingEnabled().withLoggingEnabled(Map.of());
        KTable<Windowed<byte[]>, byte[]> windows = builder
            .stream(options.get("from"), Consumed.with(BYTES, BYTES)
                .withOffsetResetPolicy(AutoOffsetReset.earliest()))
            .processValues(Meter::new)
            .groupByKey(Grouped.with(BYTES, BYTES))
            .windowedBy(TimeWindows.ofSizeWithNoGrace(WINDOW))
            .emitStrategy(suppress ? EmitStrategy.onWindowUpdate() : EmitStrategy.onWindowClose())
            .aggregate(() -> new byte[Integer.BYTES], (person, value, window) -> appended(window, value, keep), store);
        if (suppress) {
            windows = windows.suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()));
        }
        windows.toStream((window, value) -> window.key()).to(options.get("to"), Produced.with(BYTES, BYTES));
        return builder.build(settings);
    }

    /** A window is how many records it has seen, and the last {@code keep} bytes of what they held. */
    private static byte[] appended(byte[] window, byte[] value, int keep) {
        int added = Math.min(value.length, keep);
        int kept = Math.min(window.length - Integer.BYTES, keep - added);
        var grown = new byte[Integer.BYTES + kept + added];
        ByteBuffer.wrap(grown).putInt(count(window) + 1);
        System.arraycopy(window, window.length - kept, grown, Integer.BYTES, kept);
        System.arraycopy(value, value.length - added, grown, Integer.BYTES + kept, added);
        return grown;
    }

    private static int count(byte[] window) {
        return ByteBuffer.wrap(window).getInt();
    }

    /** Counts what comes in. A record of the clock asks for a commit, or its windows would wait for the next one. */
    private final class Meter extends ContextualFixedKeyProcessor<byte[], byte[], byte[]> {
        @Override
        public void process(FixedKeyRecord<byte[], byte[]> record) {
            if (Arrays.equals(record.key(), CLOCK)) {
                context().commit();
            } else {
                first.compareAndSet(0, System.nanoTime());
                latest.accumulate(record.timestamp());
                read.increment();
            }
            context().forward(record);
        }
    }

    /** What came out, as anybody would see it who reads only what is committed. */
    private final class Told {
        private final Set<ByteBuffer> persons = new HashSet<>();
        private long windows;
        private long records;

        private void add(ConsumerRecord<byte[], byte[]> window) {
            persons.add(ByteBuffer.wrap(window.key()));
            windows += 1;
            records += count(window.value());
        }

        private boolean all() {
            return persons.size() == number("persons") && records == number("records");
        }
    }

    /** Writes a record into each partition that is younger than every window that is open. */
    private void close(int partitions) {
        try (var clock = new KafkaProducer<>(clients(), new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int partition = 0; partition < partitions; partition++) {
                long when = latest.get() + WINDOW.toMillis();
                clock.send(new ProducerRecord<>(options.get("from"), partition, when, CLOCK, new byte[0]));
            }
        }
    }

    private KafkaConsumer<byte[], byte[]> outbox(Admin admin) throws Exception {
        var settings = clients();
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        var outbox = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        String to = options.get("to");
        var all = IntStream.range(0, partitions(admin, to)).mapToObj(at -> new TopicPartition(to, at)).toList();
        outbox.assign(all);
        outbox.seekToEnd(all);
        all.forEach(outbox::position);
        return outbox;
    }

    private static int partitions(Admin admin, String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
    }

    private Properties clients() {
        var settings = new Properties();
        settings.put("bootstrap.servers", options.get("brokers"));
        return settings;
    }

    private long number(String option) {
        return Long.parseLong(options.get(option));
    }
}
