-- Sends a new message that has an ordering key to its shard by the new count, whatever count its writer knows. The hash is that of
-- docs/other-languages.md, in two halves, because a product of 64 bits is out of range here, and by a query, because there are no loops.
CREATE TRIGGER IF NOT EXISTS claimstream_:shards_shards_of_queue AFTER INSERT ON claimstream_queue
WHEN EXISTS (SELECT 1 FROM claimstream_message WHERE id = NEW.id AND ordering_key IS NOT NULL)
BEGIN
  UPDATE claimstream_message
     SET shard = (
         WITH RECURSIVE hashing (place, hi, lo, byte, bytes) AS (
           SELECT 1, 3421674724, 2216829733, 0, HEX(CAST(claimstream_message.ordering_key AS BLOB))
            UNION ALL
           SELECT place + 1,
                  CASE place WHEN 1 THEN hi ELSE (hi * 435 + (((lo | byte) - (lo & byte)) << 8)
                    + ((((lo | byte) - (lo & byte)) * 435) >> 32)) & 4294967295 END,
                  CASE place WHEN 1 THEN lo ELSE (((lo | byte) - (lo & byte)) * 435) & 4294967295 END,
                  INSTR('123456789ABCDEF', SUBSTR(bytes, 2 * place - 1, 1)) * 16
                    + INSTR('123456789ABCDEF', SUBSTR(bytes, 2 * place, 1)),
                  bytes
             FROM hashing
            WHERE place <= LENGTH(bytes) / 2 + 1)
         SELECT ((hi | lo) - (hi & lo)) % :shards FROM hashing ORDER BY place DESC LIMIT 1)
   WHERE id = NEW.id;
  UPDATE claimstream_queue
     SET shard = (SELECT shard FROM claimstream_message WHERE id = NEW.id)
   WHERE queue = NEW.queue AND shard = NEW.shard AND available_at = NEW.available_at AND id = NEW.id;
END
