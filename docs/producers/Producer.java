import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HexFormat;

/**
 * Writes messages into Claimstream's outbox, in the transaction of the business data: Java with MariaDB Connector/J.
 *
 * <pre>java Producer.java HOST PORT USER PASSWORD DATABASE insert|call</pre>
 *
 * {@link #enqueueByInsert} writes the rows itself, {@link #enqueueByCall} calls the routine of
 * {@code claimstream schema routines --apply}.
 */
public class Producer {
    private static final int TAKEN = 1062;
    private static final String HEADERS =
        "{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\",\"X-Shop\":\"K\u00f6ln\"}";
    private static final SecureRandom RANDOM = new SecureRandom();

    /** A message; the payload and the headers are JSON, and what is null or empty is left out. */
    record Message(String queue, String payload, String orderingKey, String dedupKey, String headers, long delayMs) {
        Message {
            orderingKey = orNull(orderingKey);
            dedupKey = orNull(dedupKey);
            headers = orNull(headers);
        }

        private static String orNull(String text) {
            return text == null || text.isEmpty() ? null : text;
        }
    }

    /** One way to write a message. */
    interface Enqueue {
        boolean write(Connection db, Message message) throws SQLException;
    }

    /** Writes a message; false if its dedup key is taken. */
    static boolean enqueueByInsert(Connection db, Message message) throws SQLException {
        byte[] id = uuid7();
        String hex = HexFormat.of().formatHex(id);
        byte[] key = message.orderingKey() == null ? id : message.orderingKey().getBytes(StandardCharsets.UTF_8);
        int shard = shardOf(key, shards(db));
        if (message.dedupKey() != null) {
            try {
                run(db, "INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)"
                    + " VALUES (?, ?, UNHEX(?), UTC_TIMESTAMP(6))", message.queue(), message.dedupKey(), hex);
            } catch (SQLException error) {
                if (error.getErrorCode() == TAKEN) {
                    return false;
                }
                throw error;
            }
        }
        run(db, "INSERT INTO claimstream_message"
            + " (id, queue, shard, ordering_key, headers, content_type, payload, created_at)"
            + " VALUES (UNHEX(?), ?, ?, ?, ?, 'application/json', ?, UTC_TIMESTAMP(6))",
            hex, message.queue(), shard, message.orderingKey(), message.headers(), message.payload());
        run(db, "INSERT INTO claimstream_queue (queue, shard, available_at, id)"
            + " VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, UNHEX(?))",
            message.queue(), shard, message.delayMs() * 1000, hex);
        return true;
    }

    /** The same by the routine. */
    static boolean enqueueByCall(Connection db, Message message) throws SQLException {
        String call = "CALL claimstream_enqueue(?, ?, 'application/json', ?, ?, ?, ?, NULL)";
        try (PreparedStatement statement = db.prepareStatement(call)) {
            bind(statement, message.queue(), message.payload(), message.orderingKey(), message.dedupKey(),
                message.headers(), message.delayMs());
            try (ResultSet answer = statement.executeQuery()) {
                answer.next();
                return answer.getBoolean("is_new");
            }
        }
    }

    private static void run(Connection db, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = db.prepareStatement(sql)) {
            bind(statement, values);
            statement.executeUpdate();
        }
    }

    private static void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int n = 0; n < values.length; n++) {
            statement.setObject(n + 1, values[n]);
        }
    }

    private static int shards(Connection db) throws SQLException {
        try (Statement statement = db.createStatement();
             ResultSet count = statement.executeQuery("SELECT COUNT(*) FROM claimstream_shard")) {
            count.next();
            return count.getInt(1);
        }
    }

    /** FNV-1a with 64 bits, its halves folded, modulo the number of shards. */
    static int shardOf(byte[] bytes, int shards) {
        long hash = 0xcbf29ce484222325L;
        for (byte one : bytes) {
            hash = (hash ^ (one & 0xff)) * 0x100000001b3L;
        }
        return (int) (((hash >>> 32) ^ (hash & 0xffffffffL)) % shards);
    }

    /** A UUIDv7 as 16 bytes; any id that is never used twice would do. */
    static byte[] uuid7() {
        byte[] id = new byte[16];
        RANDOM.nextBytes(id);
        byte[] millis = ByteBuffer.allocate(8).putLong(System.currentTimeMillis()).array();
        System.arraycopy(millis, 2, id, 0, 6);
        id[6] = (byte) (id[6] & 0x0f | 0x70);
        id[8] = (byte) (id[8] & 0x3f | 0x80);
        return id;
    }

    private static void order(Connection db, Enqueue way, int number, String key, String unique, String headers, long delay)
        throws SQLException {
        run(db, "INSERT INTO orders (id) VALUES (?)", number);
        String payload = "{\"order\":" + number + ",\"by\":\"Gr\u00fcn & S\u00f6hne\"}";
        boolean isNew = way.write(db, new Message("orders", payload, key, unique, headers, delay));
        System.out.println((isNew ? "new " : "taken ") + number);
    }

    public static void main(String[] args) throws SQLException {
        String url = "jdbc:mariadb://" + args[0] + ":" + args[1] + "/" + args[4];
        Enqueue way = args[5].equals("call") ? Producer::enqueueByCall : Producer::enqueueByInsert;
        try (Connection db = DriverManager.getConnection(url, args[2], args[3])) {
            db.setAutoCommit(false);
            for (int number = 1; number <= 6; number++) {
                order(db, way, number, "Kunde " + number % 2 + " \u20ac", null, HEADERS, 0);
                db.commit();
            }
            order(db, way, 7, null, "order-7", null, 0);
            db.commit();
            order(db, way, 8, null, "order-7", null, 0);
            db.commit();
            order(db, way, 9, null, null, null, 1500);
            db.commit();
            order(db, way, 10, null, null, null, 0);
            db.rollback();
            order(db, way, 11, "", "", "", 0);
            db.commit();
        }
    }
}
