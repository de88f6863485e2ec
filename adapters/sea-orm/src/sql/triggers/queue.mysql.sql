-- The same for its entry in the queue, which is the cut: the server makes the trigger when every transaction has ended that has used
-- the table, and every later one meets it. The read locks the row, because a plain read would begin the caller's snapshot.
CREATE TRIGGER claimstream_:shards_shards_of_queue BEFORE INSERT ON claimstream_queue FOR EACH ROW
BEGIN
  DECLARE hashed  VARBINARY(255);
  DECLARE place   INT DEFAULT 1;
  DECLARE hi      BIGINT UNSIGNED DEFAULT 3421674724;
  DECLARE lo      BIGINT UNSIGNED DEFAULT 2216829733;
  DECLARE product BIGINT UNSIGNED;
  SELECT ordering_key INTO hashed FROM claimstream_message WHERE id = NEW.id LOCK IN SHARE MODE;
  IF hashed IS NOT NULL THEN
    WHILE place <= OCTET_LENGTH(hashed) DO
      SET lo = lo ^ ORD(SUBSTRING(hashed, place, 1));
      SET product = lo * 435;
      SET hi = (hi * 435 + (lo << 8) + (product >> 32)) & 4294967295, lo = product & 4294967295, place = place + 1;
    END WHILE;
    SET NEW.shard = (hi ^ lo) % :shards;
  END IF;
END
