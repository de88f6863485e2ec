-- The same for the body of a message that is made to live again, which is written again when it was stored by the old count.
CREATE TRIGGER claimstream_:shards_shards_of_revived BEFORE UPDATE ON claimstream_message FOR EACH ROW
BEGIN
  DECLARE hashed  VARBINARY(255);
  DECLARE place   INT DEFAULT 1;
  DECLARE hi      BIGINT UNSIGNED DEFAULT 3421674724;
  DECLARE lo      BIGINT UNSIGNED DEFAULT 2216829733;
  DECLARE product BIGINT UNSIGNED;
  SET hashed = NEW.ordering_key;
  IF hashed IS NOT NULL THEN
    WHILE place <= OCTET_LENGTH(hashed) DO
      SET lo = lo ^ ORD(SUBSTRING(hashed, place, 1));
      SET product = lo * 435;
      SET hi = (hi * 435 + (lo << 8) + (product >> 32)) & 4294967295, lo = product & 4294967295, place = place + 1;
    END WHILE;
    SET NEW.shard = (hi ^ lo) % :shards;
  END IF;
END
