-- Writes a message for a program in any language, in the transaction of the caller. docs/other-languages.md explains the arguments.
--
-- The answer is one row: id, and is_new, which is 0 if the id or the dedup key is taken and nothing was written; then id is that of the
-- message that has the dedup key, or the one that was given. Another refusal is an
-- error, undoes this call alone, and leaves the caller's transaction open; a deadlock ends that transaction, as it does everywhere.
-- The user who makes the routine lends it his rights, so a caller needs EXECUTE and nothing else. It has no backslash and no double
-- quote, so it means the same under every sql_mode but ORACLE.
CREATE /*M! OR REPLACE */ PROCEDURE claimstream_enqueue(
  IN in_queue        TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  IN in_payload      LONGBLOB,
  IN in_content_type TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  IN in_ordering_key TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  IN in_dedup_key    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  IN in_headers      LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  IN in_delay_ms     BIGINT,
  IN in_id           TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
  MODIFIES SQL DATA
  SQL SECURITY DEFINER
  COMMENT 'Claimstream: form 1'
BEGIN
  DECLARE why          VARCHAR(128) CHARACTER SET utf8mb4;
  DECLARE hex_id       VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE the_id       BINARY(16);
  DECLARE hashed       VARBINARY(255);
  DECLARE place        INT DEFAULT 1;
  DECLARE hi           BIGINT UNSIGNED DEFAULT 3421674724;
  DECLARE lo           BIGINT UNSIGNED DEFAULT 2216829733;
  DECLARE product      BIGINT UNSIGNED;
  DECLARE the_shard    INT UNSIGNED;
  DECLARE micros       BIGINT UNSIGNED;
  DECLARE header_names LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE header_name  LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE header_value LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
  DECLARE header_bytes INT DEFAULT 0;
  DECLARE seen_names   LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT ',';
  DECLARE is_known     BOOLEAN DEFAULT FALSE;
  DECLARE has_key      BOOLEAN DEFAULT FALSE;

  -- Outside a transaction a savepoint is gone at once, and there is no way back to it: 1305. MariaDB 10.5 keeps savepoints after a
  -- deadlock, but says that there is no transaction.
  /*M! IF @@autocommit = 1 AND @@in_transaction = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'claimstream_enqueue: no transaction is open; begin one before the rows of your own';
  END IF; */
  BEGIN
    DECLARE EXIT HANDLER FOR 1305
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'claimstream_enqueue: no transaction is open; begin one before the rows of your own';
    SAVEPOINT claimstream_enqueue;
    ROLLBACK TO SAVEPOINT claimstream_enqueue;
  END;

  SET in_content_type = COALESCE(in_content_type, 'application/json'),
      hex_id = LEFT(REPLACE(in_id, '-', ''), 64);
  SET why = CASE
    WHEN in_queue IS NULL OR OCTET_LENGTH(in_queue) NOT BETWEEN 1 AND 64 OR in_queue REGEXP '[^!-~]'
    THEN 'the queue must be 1 to 64 visible ASCII characters without blanks'
    WHEN in_payload IS NULL
    THEN 'the payload is NULL; an empty one is allowed'
    WHEN OCTET_LENGTH(in_content_type) NOT BETWEEN 1 AND 127 OR in_content_type REGEXP '[^ -~]'
    THEN 'the content type must be 1 to 127 printable ASCII characters'
    WHEN OCTET_LENGTH(in_ordering_key) NOT BETWEEN 1 AND 255
    THEN 'the ordering key must be NULL or have 1 to 255 bytes'
    WHEN OCTET_LENGTH(in_dedup_key) NOT BETWEEN 1 AND 255
    THEN 'the dedup key must be NULL or have 1 to 255 bytes'
    WHEN in_delay_ms NOT BETWEEN 0 AND 3153600000000
    THEN 'the delay must be NULL or 0 to 3153600000000 milliseconds, a hundred years'
    WHEN OCTET_LENGTH(hex_id) <> 32 OR hex_id REGEXP '[^0-9A-Fa-f]'
    THEN 'the id must be NULL or a UUID as text'
    WHEN in_headers IS NOT NULL AND NOT JSON_VALID(in_headers)
    THEN 'the headers must be NULL or a JSON object of texts'
  END;
  IF why IS NULL AND in_headers IS NOT NULL THEN
    IF JSON_TYPE(in_headers) <> 'OBJECT' THEN
      SET why = 'the headers must be NULL or a JSON object of texts';
    ELSE
      SET header_names = JSON_KEYS(in_headers);
      -- MariaDB keeps a name that is there twice, and lists it once. MySQL keeps the last of them.
      IF JSON_LENGTH(in_headers) <> JSON_LENGTH(header_names) THEN
        SET why = 'a header name must not be there twice, whatever the case of its letters';
      END IF;
      WHILE place <= JSON_LENGTH(header_names) AND why IS NULL DO
        SET header_name = JSON_UNQUOTE(JSON_EXTRACT(header_names, CONCAT('$[', place - 1, ']')));
        IF OCTET_LENGTH(header_name) NOT BETWEEN 1 AND 255 OR header_name REGEXP '[^-_.A-Za-z0-9]' THEN
          SET why = 'a header name must be 1 to 255 letters, digits, hyphens, underscores and dots';
        ELSEIF LOCATE(CONCAT(',', LOWER(header_name), ','), seen_names) > 0 THEN
          SET why = 'a header name must not be there twice, whatever the case of its letters';
        ELSE
          SET seen_names = CONCAT(seen_names, LOWER(header_name), ',');
          SET header_value = JSON_EXTRACT(in_headers, CONCAT('$.', JSON_QUOTE(header_name)));
          IF JSON_TYPE(header_value) <> 'STRING' THEN
            SET why = 'a header value must be a text';
          ELSE
            SET header_value = JSON_UNQUOTE(header_value),
                header_bytes = header_bytes + OCTET_LENGTH(header_name) + OCTET_LENGTH(header_value);
            -- Control characters, and those between U+0080 and U+009F, which not every server counts among them.
            IF header_value REGEXP '[[:cntrl:]]'
               OR header_value REGEXP CONCAT('[', CONVERT(x'C280' USING utf8mb4), '-', CONVERT(x'C29F' USING utf8mb4), ']') THEN
              SET why = 'a header value must not have control characters';
            ELSEIF header_bytes > 16384 THEN
              SET why = 'the headers must not have more than 16384 bytes together';
            END IF;
          END IF;
        END IF;
        SET place = place + 1;
      END WHILE;
    END IF;
  END IF;
  IF why IS NOT NULL THEN
    SET why = CONCAT('claimstream_enqueue: ', why);
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = why;
  END IF;

  IF hex_id IS NULL THEN
    -- A UUIDv7: milliseconds, the fraction of the millisecond, and 62 bits that no other call has.
    SET micros = TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6));
    SET hex_id = CONCAT(LPAD(HEX(micros DIV 1000), 12, '0'), '7', LPAD(HEX(micros MOD 1000 * 4096 DIV 1000), 3, '0'),
                        SUBSTRING('89AB', 1 + FLOOR(RAND() * 4), 1), LEFT(SHA2(CONCAT(UUID(), RAND(), CONNECTION_ID()), 256), 15));
  END IF;
  SET the_id = UNHEX(hex_id);

  BEGIN
    DECLARE EXIT HANDLER FOR 1062
    BEGIN
      ROLLBACK TO SAVEPOINT claimstream_enqueue;
      SET is_known = TRUE;
    END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
      -- A deadlock has ended the transaction, and with it the savepoint.
      DECLARE CONTINUE HANDLER FOR 1305 BEGIN END;
      ROLLBACK TO SAVEPOINT claimstream_enqueue;
      RESIGNAL;
    END;
    IF in_dedup_key IS NOT NULL THEN
      INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)
      VALUES (in_queue, in_dedup_key, the_id, UTC_TIMESTAMP(6));
    END IF;
    SET has_key = TRUE;
    -- The shard: FNV-1a with 64 bits, over the key or else the id, in two halves, because a product of 64 bits is out of range here.
    SET hashed = COALESCE(CAST(in_ordering_key AS BINARY), the_id), place = 1;
    WHILE place <= OCTET_LENGTH(hashed) DO
      SET lo = lo ^ ORD(SUBSTRING(hashed, place, 1));
      SET product = lo * 435;
      SET hi = (hi * 435 + (lo << 8) + (product >> 32)) & 4294967295, lo = product & 4294967295, place = place + 1;
    END WHILE;
    SELECT (hi ^ lo) % COUNT(*) INTO the_shard FROM claimstream_shard;
    INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)
    VALUES (the_id, in_queue, the_shard, in_ordering_key, in_headers, in_content_type, in_payload, UTC_TIMESTAMP(6));
    INSERT INTO claimstream_queue (queue, shard, available_at, id)
    VALUES (in_queue, the_shard, UTC_TIMESTAMP(6) + INTERVAL COALESCE(in_delay_ms, 0) * 1000 MICROSECOND, the_id);
  END;

  IF is_known AND NOT has_key THEN
    -- The snapshot of the caller may be older than the message that has the key, so this reads past it, with a lock that the refused insert
    -- holds already.
    SELECT message_id INTO the_id FROM claimstream_dedup
     WHERE queue = in_queue AND dedup_key = in_dedup_key LOCK IN SHARE MODE;
  END IF;
  SET hex_id = LOWER(HEX(the_id));
  SELECT CONCAT(LEFT(hex_id, 8), '-', SUBSTRING(hex_id, 9, 4), '-', SUBSTRING(hex_id, 13, 4), '-', SUBSTRING(hex_id, 17, 4), '-',
                SUBSTRING(hex_id, 21)) AS id,
         NOT is_known AS is_new;
END
