-- alive/dead
SELECT (SELECT MIN(CASE WHEN d.created_at IS NOT NULL THEN COALESCE(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', d.created_at), 0) END) FROM claimstream_dead d) AS created_at, (SELECT MIN(CASE WHEN d.created_at IS NOT NULL THEN COALESCE(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', d.created_at), 0) END) FROM claimstream_dead d WHERE NOT EXISTS (SELECT 1 FROM claimstream_dedup k WHERE k.queue = d.queue AND k.dedup_key >= 'timer/' AND k.dedup_key < 'timer0' AND k.message_id = d.id)) AS but_ticks;

-- alive/live
SELECT q.id, q.queue, CAST(q.shard AS SIGNED) AS shard, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) AS due_at, CASE WHEN COALESCE(m.first_at, m.created_at) IS NOT NULL THEN COALESCE(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', COALESCE(m.first_at, m.created_at)), 0) END AS first_at FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE NOT (q.available_at < TIMESTAMP'1970-01-01 00:00:00') AND (q.queue > :queue OR (q.queue = :queue AND q.shard > :shard) OR (q.queue = :queue AND q.shard = :shard AND q.available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND) OR (q.queue = :queue AND q.shard = :shard AND q.available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND AND q.id > :after)) ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT :limit;

-- alive/unreadable
SELECT MIN(CASE WHEN COALESCE(m.first_at, m.created_at) IS NOT NULL THEN COALESCE(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', COALESCE(m.first_at, m.created_at)), 0) END) AS first_at FROM (SELECT queue, shard FROM claimstream_queue FORCE INDEX (PRIMARY) GROUP BY queue, shard HAVING MIN(available_at) < TIMESTAMP'1970-01-01 00:00:00') place STRAIGHT_JOIN claimstream_queue q FORCE INDEX (PRIMARY) ON q.queue = place.queue AND q.shard = place.shard AND (q.available_at < TIMESTAMP'1970-01-01 00:00:00') STRAIGHT_JOIN claimstream_message m FORCE INDEX (PRIMARY) ON m.id = q.id;

-- attempts/forget
DELETE FROM claimstream_notification_attempt WHERE message_id IN (:ids);

-- attempts/note
INSERT INTO claimstream_notification_attempt (message_id, claim_id, call_number, number, provider, began_at, took, class, acceptance, reason, reference) VALUES (:message, :claim, :call, :number, :provider, UTC_TIMESTAMP(6) - INTERVAL :ago MICROSECOND, :took, :class, :acceptance, :reason, :reference) ON DUPLICATE KEY UPDATE number = number;

-- attempts/orphans
SELECT a.message_id, (m.id IS NULL AND a.began_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND) AS is_orphan FROM claimstream_notification_attempt a LEFT JOIN claimstream_notification_message m ON m.id = a.message_id WHERE a.message_id > :after ORDER BY a.message_id, a.claim_id, a.call_number LIMIT :limit;

-- attempts/page
SELECT message_id, claim_id, call_number, number, provider, TIMESTAMPDIFF(MICROSECOND, began_at, UTC_TIMESTAMP(6)) AS ago, took, class, acceptance, reason, reference FROM claimstream_notification_attempt WHERE message_id IN (:ids) ORDER BY message_id, began_at, call_number;

-- audit/forget_older
DELETE FROM claimstream_audit WHERE noted_at < UTC_TIMESTAMP(6) - INTERVAL :age MICROSECOND ORDER BY noted_at LIMIT :limit;

-- audit/note
INSERT INTO claimstream_audit (noted_at, actor, action, subject, affected) VALUES (UTC_TIMESTAMP(6), :actor, :action, :subject, :affected);

-- audit/page
SELECT number, TIMESTAMPDIFF(MICROSECOND, noted_at, UTC_TIMESTAMP(6)) AS age, actor, action, subject, affected FROM claimstream_audit WHERE number < :before ORDER BY number DESC LIMIT :limit;

-- bench/beat
UPDATE claimstream_bench SET beats = beats + 1 WHERE id = 1;

-- bench/databases
SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'claimstream\_bench\_%' ORDER BY SCHEMA_NAME;

-- bench/hold
SELECT CAST(COALESCE(GET_LOCK(:name, 0), 0) AS SIGNED) AS held;

-- bench/let_go
SELECT CAST(COALESCE(RELEASE_LOCK(:name), 0) AS SIGNED) AS held;

-- bench/look
SELECT CAST(1 AS SIGNED) AS one;

-- bench/row
INSERT INTO claimstream_bench (id, beats) VALUES (1, 0);

-- bench/strangers
SELECT COUNT(*) AS strangers FROM information_schema.TABLES WHERE TABLE_SCHEMA = :name AND TABLE_NAME NOT LIKE 'claimstream\_%';

-- bench/table
CREATE TABLE claimstream_bench ( id     INTEGER NOT NULL PRIMARY KEY, beats  BIGINT  NOT NULL );

-- claim/body
SELECT id, ordering_key, headers, content_type, CASE WHEN OCTET_LENGTH(payload) <= :inline THEN payload END AS payload, CAST(OCTET_LENGTH(payload) AS SIGNED) AS bytes FROM claimstream_message WHERE id IN (:ids);

-- claim/instance
INSERT INTO claimstream_instance (instance, label, seen_at) VALUES (:instance, :label, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE label = :label, seen_at = UTC_TIMESTAMP(6);

-- claim/lock
SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at)     AS due_at, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= UTC_TIMESTAMP(6) AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND AND NOT (claim_id <=> :claim) ORDER BY available_at, id LIMIT :limit FOR UPDATE SKIP LOCKED;

-- claim/mark
UPDATE claimstream_queue SET claimed_from = available_at, available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND, claim_id     = :claim, attempts     = attempts + 1 WHERE queue = :queue AND shard = :shard AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND AND available_at <= UTC_TIMESTAMP(6) AND NOT (claim_id <=> :claim) AND id IN (:ids);

-- claim/peek
SELECT s.shard FROM claimstream_shard s WHERE (SELECT /*+ NO_SKIP_SCAN(q) */ q.available_at FROM claimstream_queue q WHERE q.queue = :queue AND q.shard = s.shard AND NOT (q.available_at < TIMESTAMP'1970-01-01 00:00:00') ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT 1) <= UTC_TIMESTAMP(6) AND NOT EXISTS (SELECT 1 FROM claimstream_pause p WHERE p.queue = :queue AND p.shard IN (s.shard, 65535) AND (p.resumed_at IS NULL OR (p.shard <> 65535 AND p.resumed_at > UTC_TIMESTAMP(6))));

-- claim/read
SELECT q.id, CAST(q.shard AS SIGNED) AS shard, CAST(q.attempts AS SIGNED) AS attempts, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.claimed_from)   AS claimed_from, q.last_error, m.ordering_key, m.headers, m.content_type, CASE WHEN OCTET_LENGTH(m.payload) <= :inline THEN m.payload END AS payload, CAST(OCTET_LENGTH(m.payload) AS SIGNED) AS bytes, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard IN (:shards) AND q.available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND q.claim_id = :claim;

-- claim/take
UPDATE claimstream_queue SET claimed_from = available_at, available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND, claim_id     = :claim, attempts     = attempts + 1 WHERE queue = :queue AND shard = :shard AND available_at <= UTC_TIMESTAMP(6) AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND AND NOT (claim_id <=> :claim) ORDER BY available_at, id LIMIT :limit;

-- dead_letters/bare
SELECT d.id FROM claimstream_dead d LEFT JOIN claimstream_message m ON m.id = d.id WHERE d.id > :after AND m.id IS NULL ORDER BY d.id LIMIT :limit;

-- dead_letters/body
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at) SELECT d.id, d.queue, d.shard, d.ordering_key, d.headers, d.content_type, d.payload, d.created_at FROM claimstream_dead d WHERE d.id IN (:ids) ON DUPLICATE KEY UPDATE claimstream_message.queue = claimstream_message.queue;

-- dead_letters/count
SELECT COUNT(*) AS letters FROM (SELECT 1 AS one FROM claimstream_dead WHERE queue = :queue AND died_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND LIMIT :most) AS some;

-- dead_letters/count_reason
SELECT COUNT(*) AS letters FROM (SELECT 1 AS one FROM claimstream_dead WHERE queue = :queue AND died_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND AND reason = :reason LIMIT :most) AS some;

-- dead_letters/delete
DELETE FROM claimstream_dead WHERE id IN (:ids);

-- dead_letters/known
SELECT id FROM claimstream_dead WHERE id IN (:ids);

-- dead_letters/list
SELECT id, queue, shard, ordering_key, headers, content_type, payload, attempts, reason, TIMESTAMPDIFF(MICROSECOND, died_at, UTC_TIMESTAMP(6)) AS dead_for FROM claimstream_dead WHERE id IN (:ids);

-- dead_letters/listed
SELECT d.id, d.queue, d.attempts, d.reason, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', d.died_at) AS died, TIMESTAMPDIFF(MICROSECOND, d.died_at, UTC_TIMESTAMP(6)) AS dead_for FROM claimstream_dead d WHERE d.id IN (:ids) AND d.died_at >= TIMESTAMP'1970-01-01 00:00:00';

-- dead_letters/lock
SELECT id FROM claimstream_dead WHERE id IN (:ids) AND died_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND ORDER BY id FOR UPDATE;

-- dead_letters/newest
SELECT d.id, d.queue, d.attempts, d.reason, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', d.died_at) AS died, TIMESTAMPDIFF(MICROSECOND, d.died_at, UTC_TIMESTAMP(6)) AS dead_for FROM claimstream_dead d WHERE d.queue >= :queue AND d.queue <= :queue AND d.died_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND AND (d.died_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND OR d.id < :after) AND d.died_at >= TIMESTAMP'1970-01-01 00:00:00' ORDER BY d.queue DESC, d.died_at DESC, d.id DESC LIMIT :limit;

-- dead_letters/next_queue
SELECT queue FROM claimstream_dead WHERE queue > :after ORDER BY queue LIMIT 1;

-- dead_letters/others
SELECT d.id FROM claimstream_dead d JOIN claimstream_message m ON m.id = d.id WHERE d.id IN (:ids) AND COALESCE(m.first_at, m.created_at) <> d.created_at;

-- dead_letters/rename
UPDATE claimstream_dead SET id = :fresh WHERE id = :id;

-- dead_letters/revive_message
UPDATE claimstream_message SET first_at   = COALESCE(first_at, created_at), created_at = UTC_TIMESTAMP(6) WHERE id IN (:ids);

-- dead_letters/revive_queue
INSERT INTO claimstream_queue (queue, shard, available_at, id, last_error) SELECT queue, shard, UTC_TIMESTAMP(6), id, CASE WHEN reason LIKE 'may have been accepted by %; %' THEN reason END FROM claimstream_dead WHERE id IN (:ids);

-- digests/close
DELETE FROM claimstream_digest WHERE digest_key IN (:keys) AND digest_id IN (:ids);

-- digests/forget
DELETE FROM claimstream_digest_item WHERE id IN (:ids);

-- digests/item
INSERT INTO claimstream_digest_item (id, digest_id, item, created_at) VALUES (:id, :digest_id, :item, UTC_TIMESTAMP(6));

-- digests/items
SELECT i.digest_id, i.item, (SELECT m.status FROM claimstream_notification_message m WHERE m.id = i.id) AS status FROM claimstream_digest_item i WHERE i.digest_id IN (:ids) ORDER BY i.digest_id, i.created_at, i.id;

-- digests/join
INSERT INTO claimstream_digest (digest_key, digest_id, items, closes_at) VALUES (:key, :id, :items, UTC_TIMESTAMP(6) + INTERVAL LEAST(:window, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND) ON DUPLICATE KEY UPDATE digest_id = CASE WHEN closes_at <= UTC_TIMESTAMP(6) OR items >= :most THEN VALUES(digest_id) ELSE digest_id END, items = CASE WHEN digest_id = VALUES(digest_id) THEN VALUES(items) ELSE items + VALUES(items) END, closes_at = CASE WHEN digest_id = VALUES(digest_id) THEN VALUES(closes_at) ELSE closes_at END;

-- digests/joined
SELECT digest_key, digest_id FROM claimstream_digest WHERE digest_key IN (:keys) ORDER BY digest_key FOR UPDATE;

-- digests/known
SELECT id FROM claimstream_digest_item WHERE id IN (:ids);

-- digests/opened
SELECT digest_key FROM claimstream_digest WHERE digest_id IN (:ids);

-- directory/leave_segments
DELETE FROM claimstream_directory_member WHERE user_id = :user;

-- directory/members
SELECT user_id FROM claimstream_directory_member WHERE segment = :segment AND user_id > :after ORDER BY user_id LIMIT :limit;

-- directory/page
SELECT user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes FROM claimstream_directory_user WHERE user_id > :after ORDER BY user_id LIMIT :limit;

-- directory/put_member
INSERT INTO claimstream_directory_member (segment, user_id) VALUES (:segment, :user) ON DUPLICATE KEY UPDATE user_id = user_id;

-- directory/put_segment
INSERT INTO claimstream_directory_segment (segment, created_at) VALUES (:segment, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE segment = segment;

-- directory/put_user
REPLACE INTO claimstream_directory_user (user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes, changed_at) VALUES (:user, :email, :phone, :device_token, :webhook, :chat, :language, :time_zone, :attributes, UTC_TIMESTAMP(6));

-- directory/remove_members
DELETE FROM claimstream_directory_member WHERE segment = :segment AND user_id IN (:users);

-- directory/remove_user
DELETE FROM claimstream_directory_user WHERE user_id = :user;

-- directory/segment
SELECT segment FROM claimstream_directory_segment WHERE segment = :segment;

-- directory/segments
SELECT segment FROM claimstream_directory_member WHERE user_id = :user ORDER BY segment LIMIT :limit;

-- directory/share
SELECT user_id FROM claimstream_directory_user WHERE user_id IN (:users) LOCK IN SHARE MODE;

-- directory/users
SELECT user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes FROM claimstream_directory_user WHERE user_id IN (:users);

-- doctor/clock
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', MAX(seen_at)) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS ahead FROM claimstream_instance;

-- doctor/columns
SELECT TABLE_NAME AS table_name, COLUMN_NAME AS column_name, COLUMN_TYPE AS column_type FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'claimstream\_%';

-- doctor/ids
SELECT (SELECT COUNT(*) FROM claimstream_dead d LEFT JOIN claimstream_message m ON m.id = d.id WHERE m.id IS NULL)                                      AS bare, (SELECT COUNT(*) FROM claimstream_dead d JOIN claimstream_message m ON m.id = d.id WHERE COALESCE(m.first_at, m.created_at) <> d.created_at) AS reused, (SELECT COUNT(*) FROM (SELECT id FROM claimstream_queue GROUP BY queue, shard, id HAVING COUNT(*) > 1) t)                           AS doubled;

-- doctor/rights
UPDATE claimstream_shard SET shard = shard WHERE 1 = 0; INSERT INTO claimstream_queue SELECT * FROM claimstream_queue WHERE 1 = 0; UPDATE claimstream_queue SET attempts = attempts WHERE 1 = 0; DELETE FROM claimstream_queue WHERE 1 = 0; INSERT INTO claimstream_message SELECT * FROM claimstream_message WHERE 1 = 0; UPDATE claimstream_message SET queue = queue WHERE 1 = 0; DELETE FROM claimstream_message WHERE 1 = 0; INSERT INTO claimstream_dedup SELECT * FROM claimstream_dedup WHERE 1 = 0; UPDATE claimstream_dedup SET queue = queue WHERE 1 = 0; DELETE FROM claimstream_dedup WHERE 1 = 0; INSERT INTO claimstream_dead SELECT * FROM claimstream_dead WHERE 1 = 0; UPDATE claimstream_dead SET queue = queue WHERE 1 = 0; DELETE FROM claimstream_dead WHERE 1 = 0; INSERT INTO claimstream_instance SELECT * FROM claimstream_instance WHERE 1 = 0; UPDATE claimstream_instance SET label = label WHERE 1 = 0; DELETE FROM claimstream_instance WHERE 1 = 0;

-- doctor/server
SHOW SESSION VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'tx_isolation', 'transaction_isolation', 'sql_mode', 'time_zone', 'binlog_format', 'log_bin', 'wsrep_on', 'innodb_flush_log_at_trx_commit', 'sync_binlog', 'max_allowed_packet', 'max_connections', 'read_only', 'innodb_read_only', 'innodb_snapshot_isolation', 'autocommit', 'character_set_client', 'completion_type', 'sql_auto_is_null', 'sql_big_selects', 'sql_safe_updates', 'sql_select_limit', 'unique_checks');

-- doctor/strategies
SELECT held.queue, held.ends_in, (SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', MAX(q.available_at)) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) FROM claimstream_shard s JOIN claimstream_queue q ON q.queue = held.queue AND q.shard = s.shard AND q.available_at > UTC_TIMESTAMP(6) AND q.available_at <= UTC_TIMESTAMP(6) + INTERVAL 43200000000 MICROSECOND WHERE q.claim_id IS NOT NULL)                                            AS marked_until FROM (SELECT queue, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', MAX(held_until)) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS ends_in FROM claimstream_lease WHERE in_flight > 0 AND held_until > UTC_TIMESTAMP(6) GROUP BY queue) held ORDER BY held.queue;

-- doctor/tables
SELECT TABLE_NAME AS table_name, ENGINE AS engine FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME LIKE 'claimstream\_%';

-- enqueue/dedup
INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at) VALUES (:queue, :dedup_key, :id, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE message_id = message_id;

-- enqueue/dedup_or_fail
INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at) VALUES (:queue, :dedup_key, :id, UTC_TIMESTAMP(6));

-- enqueue/dedup_read
SELECT message_id FROM claimstream_dedup WHERE queue = :queue AND dedup_key IN (:keys);

-- enqueue/discard
DELETE FROM claimstream_message WHERE id IN (:ids);

-- enqueue/known
SELECT id FROM claimstream_message WHERE id IN (:ids);

-- enqueue/message
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at) VALUES (:id, :queue, :shard, :ordering_key, :headers, :content_type, :payload, UTC_TIMESTAMP(6));

-- enqueue/queue
INSERT INTO claimstream_queue (queue, shard, available_at, id) VALUES (:queue, :shard, COALESCE(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :at MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND), :id);

-- erasures/forget_older
DELETE FROM claimstream_erased_recipient WHERE erased_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND AND erased_at < COALESCE((SELECT MIN(r.created_at) FROM claimstream_notification_request r), TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND) ORDER BY erased_at LIMIT :limit;

-- erasures/held
SELECT recipient_hash, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', erased_at) AS erased_at FROM claimstream_erased_recipient WHERE recipient_hash IN (:hashes) AND erased_at IS NOT NULL FOR UPDATE;

-- erasures/hold
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at) VALUES (:hash, NULL) ON DUPLICATE KEY UPDATE recipient_hash = recipient_hash;

-- erasures/keep
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at) VALUES (:hash, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :erased_at MICROSECOND);

-- erasures/note
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at) VALUES (:hash, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE erased_at = GREATEST(COALESCE(erased_at + INTERVAL :moment MICROSECOND, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6));

-- erasures/oldest
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', erased_at) AS erased_at FROM claimstream_erased_recipient WHERE erased_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND ORDER BY erased_at LIMIT 1;

-- erasures/release
DELETE FROM claimstream_erased_recipient WHERE recipient_hash IN (:hashes);

-- erasures/requests
SELECT id, request, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', created_at) AS created_at FROM claimstream_notification_request WHERE id IN (:ids);

-- in_app/erased
SELECT id FROM claimstream_notification_message WHERE id IN (:ids) AND recipient = :erased ORDER BY id LOCK IN SHARE MODE;

-- in_app/forget_older
DELETE FROM claimstream_in_app WHERE created_at < UTC_TIMESTAMP(6) - INTERVAL :age MICROSECOND ORDER BY created_at LIMIT :limit;

-- in_app/forget_user
DELETE FROM claimstream_in_app WHERE user_id = :user LIMIT :limit;

-- in_app/mark_read
UPDATE claimstream_in_app SET is_read = 1 WHERE id IN (:ids) AND user_id = :user AND is_read = 0;

-- in_app/mark_read_up_to
UPDATE claimstream_in_app SET is_read = 1 WHERE user_id = :user AND is_read = 0 AND created_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND LIMIT :limit;

-- in_app/newest
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', created_at) AS created_at FROM claimstream_in_app WHERE id = :id AND user_id = :user;

-- in_app/page
SELECT id, user_id, request_id, content, CAST(is_read AS SIGNED) AS is_read, TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) AS age FROM claimstream_in_app WHERE user_id = :user AND is_read <= :most_read ORDER BY created_at DESC, id DESC LIMIT :limit;

-- in_app/page_after
SELECT e.id, e.user_id, e.request_id, e.content, CAST(e.is_read AS SIGNED) AS is_read, TIMESTAMPDIFF(MICROSECOND, e.created_at, UTC_TIMESTAMP(6)) AS age FROM claimstream_in_app a JOIN claimstream_in_app e ON e.user_id = a.user_id WHERE a.id = :after AND a.user_id = :user AND e.is_read <= :most_read AND e.created_at <= a.created_at AND (e.created_at < a.created_at OR e.id < a.id) ORDER BY e.created_at DESC, e.id DESC LIMIT :limit;

-- in_app/put
INSERT INTO claimstream_in_app (id, user_id, request_id, content, is_read, created_at) VALUES (:id, :user, :request_id, :content, 0, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE id = id;

-- in_app/recent
SELECT id, user_id, request_id, content, CAST(is_read AS SIGNED) AS is_read, TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) AS age FROM claimstream_in_app WHERE user_id IN (:users) AND created_at >= UTC_TIMESTAMP(6) - INTERVAL :within MICROSECOND ORDER BY created_at DESC, id DESC LIMIT :limit;

-- in_app/unread
SELECT CAST(COUNT(*) AS SIGNED) AS unread FROM (SELECT 1 FROM claimstream_in_app WHERE user_id = :user AND is_read = 0 LIMIT :limit) some;

-- locks/forget
DELETE FROM claimstream_lock WHERE held_until < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND ORDER BY held_until LIMIT :limit;

-- locks/list
SELECT lock_key, CAST(fence AS SIGNED) AS fence, CASE WHEN token = :free THEN 0 ELSE TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', held_until) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) END AS ends_in FROM claimstream_lock WHERE lock_key >= :first ORDER BY lock_key LIMIT :limit;

-- locks/make
INSERT INTO claimstream_lock (lock_key, fence, held_until, token) VALUES (:key, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6) + INTERVAL :lease MICROSECOND, :token);

-- locks/read
SELECT CAST(fence AS SIGNED) AS fence, token = :token AS is_ours FROM claimstream_lock WHERE lock_key = :key;

-- locks/release
UPDATE claimstream_lock SET held_until = UTC_TIMESTAMP(6), token      = :free WHERE lock_key = :key AND fence = :fence AND held_until > UTC_TIMESTAMP(6) AND token <> :free;

-- locks/renew
UPDATE claimstream_lock SET held_until = UTC_TIMESTAMP(6) + INTERVAL :lease MICROSECOND, token      = :token WHERE lock_key = :key AND fence = :fence AND held_until > UTC_TIMESTAMP(6) AND token <> :free;

-- locks/take
UPDATE claimstream_lock SET fence      = GREATEST(fence + 1, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))), held_until = UTC_TIMESTAMP(6) + INTERVAL :lease MICROSECOND, token      = :token WHERE lock_key = :key AND (held_until <= UTC_TIMESTAMP(6) OR token = :free);

-- notifications/are_used
SELECT EXISTS (SELECT 1 FROM claimstream_notification_request) AS used;

-- notifications/erase_attempts
UPDATE claimstream_notification_attempt SET reason = CASE WHEN reason IS NOT NULL THEN :erased END, reference = NULL WHERE message_id IN (:ids) AND (reason IS NOT NULL OR reference IS NOT NULL);

-- notifications/erase_body
UPDATE claimstream_message SET payload = :payload, headers = NULL WHERE id = :id AND queue IN (:queues);

-- notifications/erase_dead
UPDATE claimstream_dead SET payload = :payload, headers = NULL, reason = :erased WHERE id = :id AND queue IN (:queues);

-- notifications/erase_fingerprint
INSERT INTO claimstream_notification_erasure (request_id, fingerprint, erased_at) VALUES (:id, :fingerprint, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE request_id = request_id;

-- notifications/erase_in_app
DELETE FROM claimstream_in_app WHERE id IN (:ids);

-- notifications/erase_payloads
SELECT payload FROM claimstream_message WHERE id IN (:ids) UNION ALL SELECT payload FROM claimstream_dead WHERE id IN (:ids) UNION ALL SELECT item FROM claimstream_digest_item WHERE id IN (:ids);

-- notifications/erase_receipts
DELETE FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- notifications/erase_record
UPDATE claimstream_notification_message SET recipient = :erased, reason = CASE WHEN reason IS NOT NULL THEN :erased END, reference = NULL, status = CASE status WHEN 'PENDING' THEN 'CANCELLED' ELSE status END WHERE id IN (:ids);

-- notifications/erase_records
SELECT id, request_id, channel FROM claimstream_notification_message WHERE id > :after AND id <= :last AND recipient = :recipient ORDER BY id;

-- notifications/erase_request
UPDATE claimstream_notification_request SET request = :request WHERE id = :id;

-- notifications/erase_requests
SELECT id, request FROM claimstream_notification_request WHERE id > :after ORDER BY id LIMIT :limit;

-- notifications/erase_since
SELECT r.id, r.request FROM claimstream_notification_erasure e JOIN claimstream_notification_request r ON r.id = e.request_id WHERE e.request_id IN (:ids);

-- notifications/erase_window
SELECT id FROM claimstream_notification_message WHERE id > :after ORDER BY id LIMIT 1 OFFSET :size;

-- notifications/message_conclude
UPDATE claimstream_notification_message SET status = :status, reason = CASE recipient WHEN :erased THEN NULL ELSE :reason END, reference = CASE recipient WHEN :erased THEN NULL ELSE :reference END, changed_at = UTC_TIMESTAMP(6) WHERE id IN (:ids) AND (status = 'PENDING' OR (status <> 'DELIVERED' AND :status = 'DELIVERED') OR (status = 'FAILED' AND :status = 'SKIPPED'));

-- notifications/message_conclude_each
UPDATE claimstream_notification_message SET status = ELT(FIELD(id, :ids), :statuses), reason = CASE recipient WHEN :erased THEN NULL ELSE ELT(FIELD(id, :ids), :reasons) END, reference = CASE recipient WHEN :erased THEN NULL ELSE ELT(FIELD(id, :ids), :references) END, changed_at = UTC_TIMESTAMP(6) WHERE id IN (:ids) AND (status = 'PENDING' OR (status <> 'DELIVERED' AND ELT(FIELD(id, :ids), :statuses) = 'DELIVERED') OR (status = 'FAILED' AND ELT(FIELD(id, :ids), :statuses) = 'SKIPPED'));

-- notifications/message_page
SELECT id, channel, recipient, status, reason, reference FROM claimstream_notification_message WHERE request_id = :id AND id > :after ORDER BY id LIMIT :limit;

-- notifications/message_pending
SELECT id FROM claimstream_notification_message WHERE request_id = :id AND id > :after AND status = 'PENDING' ORDER BY id LIMIT :limit;

-- notifications/message_read
SELECT id, request_id, channel, recipient, status, reason, reference FROM claimstream_notification_message WHERE id = :id;

-- notifications/message_record
INSERT INTO claimstream_notification_message (id, request_id, channel, recipient, status, reason, created_at, changed_at) VALUES (:id, :request_id, :channel, :recipient, :status, :reason, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6));

-- notifications/message_reopen
UPDATE claimstream_notification_message SET status = :status, reason = :reason, changed_at = UTC_TIMESTAMP(6) WHERE id = :id AND status = 'FAILED';

-- notifications/message_state
SELECT id, status, NULL AS provider FROM claimstream_notification_message WHERE id IN (:ids) UNION ALL SELECT message_id AS id, NULL AS status, provider FROM claimstream_notification_attempt WHERE message_id IN (:ids) AND acceptance <> 'NOT_ACCEPTED';

-- notifications/message_status
SELECT id, status FROM claimstream_notification_message WHERE id IN (:ids);

-- notifications/message_take_back
UPDATE claimstream_notification_message SET status = 'CANCELLED', changed_at = UTC_TIMESTAMP(6) WHERE id IN (:ids) AND status = 'PENDING';

-- notifications/outbox_find
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at) AS due_at FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND AND available_at > UTC_TIMESTAMP(6) AND id = :id AND claim_id IS NULL LIMIT 1;

-- notifications/outbox_remove
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND AND available_at > UTC_TIMESTAMP(6) AND id = :id AND claim_id IS NULL;

-- notifications/request_cancel
UPDATE claimstream_notification_request SET status = 'CANCELLED', changed_at = UTC_TIMESTAMP(6) WHERE id = :id;

-- notifications/request_counts
SELECT status, NULL AS kind, COUNT(*) AS messages FROM claimstream_notification_message WHERE request_id = :id GROUP BY status UNION ALL SELECT NULL AS status, r.kind, COUNT(*) AS messages FROM claimstream_notification_message m STRAIGHT_JOIN claimstream_notification_receipt r FORCE INDEX (PRIMARY) ON r.message_id = m.id WHERE m.request_id = :id GROUP BY r.kind;

-- notifications/request_dispatch
UPDATE claimstream_notification_request SET status = 'DISPATCHED', changed_at = UTC_TIMESTAMP(6) WHERE id IN (:ids) AND status IN ('PENDING', 'PROCESSING');

-- notifications/request_hold
SELECT status, request, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', created_at) AS created_at FROM claimstream_notification_request WHERE id = :id FOR UPDATE;

-- notifications/request_insert
INSERT INTO claimstream_notification_request (id, status, request, created_at, changed_at) VALUES (:id, 'PENDING', :request, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6));

-- notifications/request_known
SELECT id FROM claimstream_notification_request WHERE id IN (:ids);

-- notifications/request_list
SELECT r.id, r.status, TIMESTAMPDIFF(MICROSECOND, r.created_at, UTC_TIMESTAMP(6)) AS age, JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.type')) AS kind, JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.id')) AS requester FROM claimstream_notification_request r FORCE INDEX (requests_by_age) ORDER BY r.created_at DESC, r.id DESC LIMIT :limit;

-- notifications/request_list_after
SELECT r.id, r.status, TIMESTAMPDIFF(MICROSECOND, r.created_at, UTC_TIMESTAMP(6)) AS age, JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.type')) AS kind, JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.id')) AS requester FROM claimstream_notification_request r FORCE INDEX (requests_by_age) JOIN claimstream_notification_request a ON a.id = :after WHERE r.created_at <= a.created_at AND (r.created_at < a.created_at OR r.id < a.id) ORDER BY r.created_at DESC, r.id DESC LIMIT :limit;

-- notifications/request_listed
SELECT r.id, r.status, TIMESTAMPDIFF(MICROSECOND, r.created_at, UTC_TIMESTAMP(6)) AS age, JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.type')) AS kind, JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.id')) AS requester FROM claimstream_notification_request r WHERE r.id = :id;

-- notifications/request_lock
SELECT id, status, reason FROM claimstream_notification_request WHERE id IN (:ids) ORDER BY id FOR UPDATE;

-- notifications/request_move
UPDATE claimstream_notification_request SET status = :status, reason = :reason, changed_at = UTC_TIMESTAMP(6) WHERE id IN (:ids);

-- notifications/request_of_message
SELECT status FROM claimstream_notification_request WHERE id = (SELECT m.request_id FROM claimstream_notification_message m WHERE m.id = :id) FOR UPDATE;

-- notifications/request_read
SELECT id, request, status FROM claimstream_notification_request WHERE id IN (:ids);

-- notifications/request_status
SELECT status, reason FROM claimstream_notification_request WHERE id = :id;

-- notifications/request_taken
SELECT r.id, r.request, e.fingerprint FROM claimstream_notification_request r LEFT JOIN claimstream_notification_erasure e ON e.request_id = r.id WHERE r.id IN (:ids) LOCK IN SHARE MODE;

-- notifications/rights
INSERT INTO claimstream_notification_request SELECT * FROM claimstream_notification_request WHERE 1 = 0; UPDATE claimstream_notification_request SET status = status WHERE 1 = 0; DELETE FROM claimstream_notification_request WHERE 1 = 0; INSERT INTO claimstream_notification_message SELECT * FROM claimstream_notification_message WHERE 1 = 0; UPDATE claimstream_notification_message SET status = status WHERE 1 = 0; DELETE FROM claimstream_notification_message WHERE 1 = 0;

-- observe/claimed
SELECT COUNT(*) AS claimed FROM claimstream_queue WHERE queue IN (:queues) AND claim_id IS NOT NULL AND available_at > UTC_TIMESTAMP(6);

-- observe/dead
SELECT queue, COUNT(*) AS dead FROM claimstream_dead GROUP BY queue;

-- observe/find
SELECT q.id, q.attempts, q.last_error, q.claim_id IS NOT NULL AS claimed, i.label AS holder, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS available_in, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.parked_until) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS parked_for FROM (SELECT available_at, id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND ORDER BY available_at, id LIMIT :most) AS near JOIN claimstream_queue q ON q.queue = :queue AND q.shard = :shard AND q.available_at = near.available_at AND q.id = near.id LEFT JOIN claimstream_instance i ON i.instance = SUBSTRING(q.claim_id, 1, 8) WHERE near.id IN (:ids);

-- observe/first_key
SELECT MIN(dedup_key) AS dedup_key FROM claimstream_dedup WHERE queue = :queue AND dedup_key >= :from AND dedup_key < :end;

-- observe/instances
SELECT instance, label, TIMESTAMPDIFF(MICROSECOND, seen_at, UTC_TIMESTAMP(6)) AS seen FROM claimstream_instance WHERE instance > :after ORDER BY instance LIMIT :limit;

-- observe/kept
SELECT queue, CAST(shard AS SIGNED) AS shard, ordering_key, headers, content_type, CAST(OCTET_LENGTH(payload) AS SIGNED) AS bytes, TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) AS age, TIMESTAMPDIFF(MICROSECOND, first_at, UTC_TIMESTAMP(6)) AS first_age FROM claimstream_message WHERE id = :id;

-- observe/key_queue
SELECT MIN(queue) AS queue FROM claimstream_dedup WHERE queue > :after;

-- observe/keyed
SELECT message_id, TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) AS taken FROM claimstream_dedup WHERE queue = :queue AND dedup_key = :dedup_key;

-- observe/last_key
SELECT MAX(dedup_key) AS dedup_key FROM claimstream_dedup WHERE queue = :queue AND dedup_key >= :from AND dedup_key < :end;

-- observe/lease
SELECT queue, CAST(shard AS SIGNED) AS shard, label, fence, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', held_until) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS ends_in, CAST(in_flight AS SIGNED) AS in_flight, flights, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now FROM claimstream_lease WHERE queue = :queue AND shard = :shard;

-- observe/leased
SELECT COALESCE(CAST(SUM(in_flight) AS SIGNED), 0) AS leased FROM claimstream_lease WHERE queue IN (:queues) AND held_until > UTC_TIMESTAMP(6);

-- observe/leases
SELECT queue, CAST(shard AS SIGNED) AS shard, label, fence, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', held_until) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS ends_in, CAST(in_flight AS SIGNED) AS in_flight FROM claimstream_lease WHERE queue >= :queue AND (queue > :queue OR shard > :shard) ORDER BY claimstream_lease.queue, claimstream_lease.shard LIMIT :limit;

-- observe/leases_of
SELECT queue, CAST(shard AS SIGNED) AS shard, label, fence, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', held_until) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS ends_in, CAST(in_flight AS SIGNED) AS in_flight FROM claimstream_lease WHERE queue = :queue ORDER BY claimstream_lease.shard;

-- observe/live
SELECT q.queue AS queue, CAST(q.shard AS SIGNED) AS shard, COUNT(*) AS depth, COUNT(CASE WHEN q.available_at <= UTC_TIMESTAMP(6) AND (q.parked_until IS NULL OR q.parked_until <= UTC_TIMESTAMP(6)) AND NOT (q.available_at < TIMESTAMP'1970-01-01 00:00:00') THEN 1 END) AS due, COUNT(CASE WHEN q.claim_id IS NOT NULL AND q.available_at > UTC_TIMESTAMP(6) THEN 1 END) AS leased, COUNT(CASE WHEN q.attempts > 0 AND ((q.available_at > UTC_TIMESTAMP(6) AND q.claim_id IS NULL) OR (q.available_at <= UTC_TIMESTAMP(6) AND q.parked_until > UTC_TIMESTAMP(6))) THEN 1 END) AS retrying, TIMESTAMPDIFF(MICROSECOND, MIN(CASE WHEN (q.available_at < TIMESTAMP'1970-01-01 00:00:00') THEN NULL WHEN q.parked_until IS NULL THEN q.available_at WHEN q.parked_until <= UTC_TIMESTAMP(6) THEN GREATEST(q.available_at, q.parked_until) END), UTC_TIMESTAMP(6)) AS oldest, COUNT(CASE WHEN (q.available_at < TIMESTAMP'1970-01-01 00:00:00') THEN 1 END) AS unreadable FROM claimstream_queue q GROUP BY q.queue, q.shard;

-- observe/places
SELECT id, queue, CAST(shard AS SIGNED) AS shard, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', created_at) AS since FROM claimstream_message WHERE id IN (:ids);

-- pauses/again
UPDATE claimstream_pause SET paused_at = UTC_TIMESTAMP(6), paused_by = :by, why = :why, resumed_at = NULL, resumed_by = NULL WHERE queue = :queue AND shard = 65535 AND resumed_at IS NOT NULL;

-- pauses/first
INSERT INTO claimstream_pause (queue, shard, paused_at, paused_by, why) VALUES (:queue, 65535, UTC_TIMESTAMP(6), :by, :why);

-- pauses/list
SELECT queue, TIMESTAMPDIFF(MICROSECOND, paused_at, UTC_TIMESTAMP(6)) AS since, paused_by, why FROM claimstream_pause WHERE shard = 65535 AND resumed_at IS NULL ORDER BY claimstream_pause.queue;

-- pauses/resume
UPDATE claimstream_pause SET resumed_at = UTC_TIMESTAMP(6), resumed_by = :by WHERE queue = :queue AND shard = 65535 AND resumed_at IS NULL;

-- preferences/change
UPDATE claimstream_preference SET preferences = :preferences, changed_at = UTC_TIMESTAMP(6) WHERE recipient_hash = :hash;

-- preferences/forget
DELETE FROM claimstream_preference WHERE recipient_hash = :hash;

-- preferences/forget_address
UPDATE claimstream_preference SET recipient = :erased WHERE recipient_hash IN (:recipients);

-- preferences/forget_owner
UPDATE claimstream_suppression SET address = :erased, note = NULL WHERE address_hash IN (:addresses);

-- preferences/keep
INSERT INTO claimstream_preference (recipient_hash, recipient, preferences, changed_at) VALUES (:hash, :recipient, :preferences, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE recipient_hash = recipient_hash;

-- preferences/lift
DELETE FROM claimstream_suppression WHERE address_hash = :hash;

-- preferences/lock
SELECT preferences FROM claimstream_preference WHERE recipient_hash = :hash FOR UPDATE;

-- preferences/read
SELECT NULL AS now, recipient_hash AS recipient, preferences, NULL AS address, NULL AS reason FROM claimstream_preference WHERE recipient_hash IN (:recipients) UNION ALL SELECT NULL, NULL, NULL, address_hash, reason FROM claimstream_suppression WHERE address_hash IN (:addresses) UNION ALL SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)), NULL, NULL, NULL, NULL;

-- preferences/suppress
INSERT INTO claimstream_suppression (address_hash, channel, address, reason, note, since) VALUES (:hash, :channel, :address, :reason, :note, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE address = COALESCE(:spelled, address), reason = CASE WHEN reason = 'unsubscribed' OR :reason = 'complained' THEN :reason ELSE reason END, note = COALESCE(:note, note);

-- preferences/suppressed
SELECT address_hash, channel, address, reason, note, TIMESTAMPDIFF(MICROSECOND, since, UTC_TIMESTAMP(6)) AS age FROM claimstream_suppression WHERE address_hash > :after ORDER BY address_hash LIMIT :limit;

-- probe/lock
SELECT shard FROM claimstream_shard WHERE shard = 0 FOR UPDATE;

-- probe/skip
SELECT shard FROM claimstream_shard WHERE shard = 0 FOR UPDATE SKIP LOCKED;

-- rates/make
INSERT INTO claimstream_provider_rate (provider, handed_out_until) VALUES (:provider, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE provider = provider;

-- rates/read
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', handed_out_until) AS handed_out_until, TIMESTAMPDIFF(MICROSECOND, handed_out_until, UTC_TIMESTAMP(6)) AS behind FROM claimstream_provider_rate WHERE provider = :provider;

-- rates/take
UPDATE claimstream_provider_rate SET handed_out_until = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :until MICROSECOND WHERE provider = :provider AND handed_out_until = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :seen MICROSECOND;

-- receipts/end_wait
DELETE FROM claimstream_notification_receipt_waiting WHERE provider = :provider AND reference = :reference AND kind = :kind;

-- receipts/find
SELECT reference, message_id FROM claimstream_notification_attempt WHERE provider = :provider AND reference IN (:references) ORDER BY began_at, message_id;

-- receipts/forget_waiting
DELETE FROM claimstream_notification_receipt_waiting WHERE seen_at < UTC_TIMESTAMP(6) - INTERVAL :age MICROSECOND ORDER BY seen_at LIMIT :limit;

-- receipts/keep
INSERT INTO claimstream_notification_receipt (message_id, kind, seen_at, said_at) VALUES (:message, :kind, UTC_TIMESTAMP(6) - INTERVAL :ago MICROSECOND, :said_at) ON DUPLICATE KEY UPDATE kind = kind;

-- receipts/known
SELECT message_id, kind FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- receipts/lock
SELECT id, channel, recipient FROM claimstream_notification_message WHERE id IN (:ids) ORDER BY id FOR UPDATE;

-- receipts/page
SELECT message_id, kind, TIMESTAMPDIFF(MICROSECOND, seen_at, UTC_TIMESTAMP(6)) AS ago, said_at FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- receipts/payload
SELECT payload FROM claimstream_message WHERE id = :id;

-- receipts/wait
INSERT INTO claimstream_notification_receipt_waiting (provider, reference, kind, address, said_at, note, seen_at) VALUES (:provider, :reference, :kind, :address, :said_at, :note, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE claimstream_notification_receipt_waiting.kind = claimstream_notification_receipt_waiting.kind;

-- receipts/waiting
SELECT w.provider, w.reference, w.kind, w.address, w.said_at, w.note, TIMESTAMPDIFF(MICROSECOND, w.seen_at, UTC_TIMESTAMP(6)) AS ago, a.message_id FROM claimstream_notification_receipt_waiting w STRAIGHT_JOIN claimstream_notification_attempt a ON a.provider = w.provider AND a.reference = w.reference WHERE w.seen_at >= UTC_TIMESTAMP(6) - INTERVAL :within MICROSECOND ORDER BY w.seen_at, w.provider, w.reference, w.kind, a.began_at LIMIT :limit;

-- remains/bodies
SELECT id FROM claimstream_message WHERE id IN (:ids) ORDER BY id FOR UPDATE;

-- remains/carriers
SELECT id FROM claimstream_queue WHERE queue = :queue UNION ALL SELECT id FROM claimstream_dead WHERE queue = :queue;

-- remains/delivered
SELECT message_id AS id FROM claimstream_notification_attempt WHERE message_id IN (:ids) AND acceptance = 'ACCEPTED' UNION SELECT message_id FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- remains/hold
UPDATE claimstream_notification_request SET changed_at = UTC_TIMESTAMP(6) WHERE id IN (:ids);

-- remains/lost_items
SELECT i.id FROM claimstream_notification_message m STRAIGHT_JOIN claimstream_digest_item i FORCE INDEX (PRIMARY) ON i.id = m.id LEFT JOIN claimstream_message b ON b.id = i.digest_id LEFT JOIN claimstream_dead d ON d.id = i.digest_id WHERE m.request_id IN (:ids) AND m.status = 'PENDING' AND b.id IS NULL AND d.id IS NULL;

-- remains/open_requests
SELECT id FROM claimstream_notification_request WHERE id > :after AND status IN ('PENDING', 'PROCESSING') AND changed_at < UTC_TIMESTAMP(6) - INTERVAL :quiet MICROSECOND ORDER BY id LIMIT :limit;

-- remains/pending
SELECT m.id, m.request_id, COALESCE(i.digest_id, m.id) AS carrier FROM claimstream_notification_message m LEFT JOIN claimstream_digest_item i ON i.id = m.id WHERE m.id > :after AND m.status = 'PENDING' AND m.changed_at < UTC_TIMESTAMP(6) - INTERVAL :quiet MICROSECOND ORDER BY m.id LIMIT :limit;

-- remains/requeue
INSERT INTO claimstream_queue (queue, shard, available_at, id) SELECT b.queue, b.shard, UTC_TIMESTAMP(6), b.id FROM claimstream_message b LEFT JOIN claimstream_queue q ON q.queue = b.queue AND q.shard = b.shard AND q.id = b.id LEFT JOIN claimstream_dead d ON d.id = b.id WHERE b.id IN (:ids) AND q.id IS NULL AND d.id IS NULL;

-- remains/standing
SELECT id, status FROM claimstream_notification_request WHERE id IN (:ids);

-- remains/steps
SELECT b.payload FROM claimstream_queue q STRAIGHT_JOIN claimstream_message b FORCE INDEX (PRIMARY) ON b.id = q.id WHERE q.queue = :queue UNION ALL SELECT d.payload FROM claimstream_dead d WHERE d.queue = :queue;

-- request_sweep/dead
SELECT payload FROM claimstream_dead WHERE queue IN (:queues) UNION ALL SELECT m.payload FROM claimstream_queue q JOIN claimstream_message m ON m.id = q.id WHERE q.queue IN (:queues) AND m.first_at IS NOT NULL LIMIT :limit;

-- request_sweep/delete
DELETE FROM claimstream_notification_request WHERE id IN (:ids) AND changed_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND;

-- request_sweep/erasures
DELETE FROM claimstream_notification_erasure WHERE request_id IN (:ids);

-- request_sweep/messages
SELECT id FROM claimstream_notification_message WHERE request_id IN (:ids) LIMIT :limit;

-- request_sweep/messages_delete
DELETE FROM claimstream_notification_message WHERE id IN (:ids);

-- request_sweep/page
SELECT r.id, r.status FROM claimstream_notification_request r WHERE r.id > :after AND r.id <= :last AND r.changed_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND AND r.status NOT IN ('PENDING', 'PROCESSING') AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message m WHERE m.request_id = r.id AND (m.status = 'PENDING' OR m.changed_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND)) AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message f JOIN claimstream_dead d ON d.id = f.id WHERE f.request_id = r.id) AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message w JOIN claimstream_message b ON b.id = w.id WHERE w.request_id = r.id) ORDER BY r.id LIMIT :limit;

-- request_sweep/receipts
DELETE FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- resharding/begin
INSERT INTO claimstream_schema (capability, version, shards, from_shards) SELECT 'resharding', 1, :shards, :from_shards FROM (SELECT COUNT(*) AS there FROM claimstream_shard) counted WHERE counted.there = :from_shards ON DUPLICATE KEY UPDATE version = version;

-- resharding/bodies
SELECT id, CAST(shard AS SIGNED) AS shard, ordering_key FROM claimstream_message WHERE id > :after ORDER BY claimstream_message.id LIMIT :limit;

-- resharding/close
INSERT INTO claimstream_pause (queue, shard, paused_at, paused_by, resumed_at) VALUES (:queue, :shard, UTC_TIMESTAMP(6), 'resharding', UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND) ON DUPLICATE KEY UPDATE resumed_at = UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND;

-- resharding/cut
UPDATE claimstream_schema SET applied_at = UTC_TIMESTAMP(6) WHERE capability = 'resharding' AND version = 1 AND shards = :shards AND applied_at IS NULL;

-- resharding/end
DELETE FROM claimstream_schema WHERE capability = 'resharding' AND version = 1 AND shards = :shards;

-- resharding/lease
SELECT label, CAST(fence AS SIGNED) AS fence, (holder IS NOT NULL AND in_flight > 0 AND held_until <= UTC_TIMESTAMP(6)) AS is_left FROM claimstream_lease WHERE queue = :queue AND shard = :shard;

-- resharding/let_go
DELETE FROM claimstream_pause WHERE queue = :queue AND shard = :shard;

-- resharding/letters
SELECT id, CAST(shard AS SIGNED) AS shard, ordering_key FROM claimstream_dead WHERE id > :after ORDER BY claimstream_dead.id LIMIT :limit;

-- resharding/mend_bodies
UPDATE claimstream_message SET shard = CASE id /*each*/ WHEN :id THEN :target /*end*/ ELSE shard END WHERE id IN (:ids);

-- resharding/mend_letters
UPDATE claimstream_dead SET shard = CASE id /*each*/ WHEN :id THEN :target /*end*/ ELSE shard END WHERE id IN (:ids);

-- resharding/move_bodies
UPDATE claimstream_message SET shard = :target WHERE id IN (:ids);

-- resharding/move_rows
UPDATE claimstream_queue SET shard = :target WHERE queue = :queue AND shard = :shard AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND AND id IN (:ids) AND (claim_id IS NULL OR available_at <= UTC_TIMESTAMP(6));

-- resharding/next_queue
SELECT MIN(queue) AS queue FROM claimstream_queue WHERE queue > :after;

-- resharding/page
SELECT q.id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) AS due_at, m.ordering_key, (q.claim_id IS NOT NULL AND q.available_at > UTC_TIMESTAMP(6)) AS is_claimed FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :below MICROSECOND AND (q.available_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :below MICROSECOND OR q.id < :id) AND NOT (q.available_at < TIMESTAMP'1970-01-01 00:00:00') ORDER BY q.available_at DESC, q.id DESC LIMIT :limit;

-- resharding/prepared
XA RECOVER;

-- resharding/shards
SELECT CAST(s.shard AS SIGNED) AS shard, CAST(r.shards AS SIGNED) AS shards, CAST(r.from_shards AS SIGNED) AS from_shards, (r.applied_at IS NOT NULL) AS is_cut FROM claimstream_shard s LEFT JOIN claimstream_schema r ON r.capability = 'resharding' AND r.version = 1 ORDER BY s.shard;

-- resharding/take
UPDATE claimstream_lease SET holder = NULL, label = NULL, fence = fence + 1, held_until = UTC_TIMESTAMP(6), in_flight = 0, flights = NULL, token = :token WHERE queue = :queue AND shard = :shard AND fence = :fence AND (holder IS NULL OR (in_flight = 0 AND held_until <= UTC_TIMESTAMP(6)));

-- resharding/triggers
SELECT trigger_name AS name FROM information_schema.triggers WHERE trigger_schema = DATABASE() AND trigger_name IN (:names);

-- resharding/undo
DELETE FROM claimstream_schema WHERE capability = 'resharding' AND version = 1 AND shards = :shards AND applied_at IS NULL;

-- routine/grants
SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)) AS grantee, CAST(Proc_priv AS CHAR) AS rights FROM mysql.procs_priv WHERE Db = DATABASE() AND Routine_name = 'claimstream_enqueue' AND Routine_type = 'PROCEDURE' AND CONCAT(User, '@', Host) <> CURRENT_USER();

-- routine/standing
SELECT ROUTINE_DEFINITION AS body, DEFINER = CURRENT_USER() AS is_own FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME = 'claimstream_enqueue' AND ROUTINE_TYPE = 'PROCEDURE';

-- sagas/next_scope
SELECT s.scope FROM claimstream_saga s WHERE s.scope > :scope ORDER BY s.scope LIMIT 1;

-- sagas/note
INSERT INTO claimstream_saga (scope, run, owner, input, created_at) VALUES (:scope, :run, :owner, :input, UTC_TIMESTAMP(6));

-- sagas/old
SELECT s.owner, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', s.created_at) AS created, s.run FROM claimstream_saga s WHERE s.scope = :scope AND s.owner >= :owner AND (s.owner > :owner OR s.created_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND OR (s.created_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND AND s.run > :run)) AND s.created_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND AND NOT EXISTS (SELECT 1 FROM claimstream_step t WHERE t.scope = s.scope AND t.run = s.run) ORDER BY s.owner, s.created_at, s.run LIMIT :limit;

-- sagas/page
SELECT s.run, s.owner, s.input, TIMESTAMPDIFF(MICROSECOND, s.created_at, UTC_TIMESTAMP(6)) AS age, CAST(t.state AS SIGNED) AS state, CAST(t.version AS SIGNED) AS version, t.fingerprint, t.result, t.origin FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' WHERE s.scope = :scope AND s.owner = :owner ORDER BY s.created_at DESC, s.run DESC LIMIT :limit;

-- sagas/page_after
SELECT s.run, s.owner, s.input, TIMESTAMPDIFF(MICROSECOND, s.created_at, UTC_TIMESTAMP(6)) AS age, CAST(t.state AS SIGNED) AS state, CAST(t.version AS SIGNED) AS version, t.fingerprint, t.result, t.origin FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' JOIN claimstream_saga a ON a.scope = :scope AND a.run = :after WHERE s.scope = :scope AND s.owner = :owner AND s.created_at <= a.created_at AND (s.created_at < a.created_at OR s.run < a.run) ORDER BY s.created_at DESC, s.run DESC LIMIT :limit;

-- sagas/read
SELECT s.run, s.owner, s.input, TIMESTAMPDIFF(MICROSECOND, s.created_at, UTC_TIMESTAMP(6)) AS age, CAST(t.state AS SIGNED) AS state, CAST(t.version AS SIGNED) AS version, t.fingerprint, t.result, t.origin FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' WHERE s.scope = :scope AND s.run = :run;

-- sagas/shorten
UPDATE claimstream_saga SET owner = '', input = '' WHERE scope = :scope AND run IN (:runs) AND created_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND;

-- savepoint/at_home
SELECT ~0 + (NOT COALESCE(@claimstream = CONCAT(CAST(DATABASE() AS BINARY), ' ', :made_at), 0));

-- savepoint/begin
BEGIN; SAVEPOINT claimstream;

-- savepoint/begin_group
START TRANSACTION WITH CONSISTENT SNAPSHOT; SAVEPOINT claimstream_begun;

-- savepoint/commit
RELEASE SAVEPOINT claimstream; COMMIT;

-- savepoint/commit_galera
RELEASE SAVEPOINT claimstream;

-- savepoint/commit_group
RELEASE SAVEPOINT claimstream_begun; COMMIT;

-- savepoint/commit_proof
SELECT ~0 + (0 /*M!100500 OR @@in_transaction = 0 */); SAVEPOINT claimstream; RELEASE SAVEPOINT claimstream; COMMIT;

-- savepoint/commit_proof_galera
SELECT ~0 + (0 /*M!100500 OR @@in_transaction = 0 */); SAVEPOINT claimstream; RELEASE SAVEPOINT claimstream;

-- savepoint/home
SELECT ~0 + (COUNT(*) = 0) FROM claimstream_schema WHERE capability = 'outbox' AND version = 1 AND TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', applied_at) = :made_at;

-- savepoint/known
SELECT ~0 + (@@autocommit = 0 /*M!100500 OR @@in_transaction = 0 */ OR NOT COALESCE(@claimstream = CONCAT(CAST(DATABASE() AS BINARY), ' ', :made_at), 0)); SAVEPOINT claimstream; ROLLBACK TO SAVEPOINT claimstream;

-- savepoint/proof
SELECT ~0 + (0 /*M!100500 OR @@in_transaction = 0 */); SELECT ~0 + (COUNT(*) = 0 OR @@autocommit = 0) FROM claimstream_schema WHERE capability = 'outbox' AND version = 1 AND TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', applied_at) = :made_at LOCK IN SHARE MODE; SAVEPOINT claimstream; ROLLBACK TO SAVEPOINT claimstream;

-- savepoint/remember
SET @claimstream = CONCAT(CAST(DATABASE() AS BINARY), ' ', :made_at);

-- savepoint/renew
RELEASE SAVEPOINT claimstream; SAVEPOINT claimstream;

-- savepoint/renew_galera
RELEASE SAVEPOINT claimstream; SAVEPOINT claimstream; ROLLBACK TO SAVEPOINT claimstream;

-- savepoint/renew_group
SAVEPOINT claimstream; ROLLBACK TO SAVEPOINT claimstream;

-- savepoint/roll_back
ROLLBACK;

-- savepoint/undo
ROLLBACK TO SAVEPOINT claimstream;

-- schema/applied
INSERT INTO claimstream_schema (capability, version, applied_at) VALUES (:capability, :version, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE version = version;

-- schema/fresh
SET /*!80000 SESSION information_schema_stats_expiry = 0, */ @claimstream_fresh = 1;

-- schema/identity
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', applied_at) AS made_at FROM claimstream_schema WHERE capability = 'outbox' AND version = 1;

-- schema/indexes
SELECT DISTINCT TABLE_NAME AS on_table, INDEX_NAME AS name FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'claimstream\_%';

-- schema/shard_insert
INSERT INTO claimstream_shard (shard) VALUES (:shard);

-- schema/shard_list
SELECT shard FROM claimstream_shard ORDER BY shard;

-- schema/tables
SELECT TABLE_NAME AS name, TABLE_ROWS AS estimate FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'claimstream\_%';

-- schema/there
SELECT 1 FROM claimstream_schema WHERE 1 = 0;

-- schema/versions
SELECT capability, CAST(MAX(version) AS SIGNED) AS version FROM claimstream_schema GROUP BY capability;

-- session/brief
SET SESSION lock_wait_timeout = 1;

-- session/cipher
SHOW SESSION STATUS LIKE 'Ssl_cipher';

-- session/now
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now;

-- session/rollback
ROLLBACK; SET autocommit = 1;

-- session/server
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_id', 'wsrep_on', 'group_replication_group_name');

-- session/setup
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE; SET SESSION autocommit = 1, SESSION completion_type = 0, SESSION innodb_lock_wait_timeout = 5, SESSION lock_wait_timeout = 10, SESSION sql_auto_is_null = 0, SESSION sql_big_selects = 1, SESSION sql_buffer_result = 0, SESSION sql_safe_updates = 0, SESSION sql_select_limit = 18446744073709551615, SESSION unique_checks = 1, SESSION wait_timeout = 120, SESSION sql_mode = 'STRICT_TRANS_TABLES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION' /*!50708 , SESSION max_execution_time = 0 */ /*M! , SESSION max_statement_time = 0 */ /*M!110602 , SESSION innodb_snapshot_isolation = OFF */;

-- session/short_lock_wait
SET SESSION innodb_lock_wait_timeout = 1;

-- session/transaction
SELECT CAST(@@autocommit AS SIGNED) AS autocommit, CAST(1 /*M!100500 AND @@in_transaction */ AS SIGNED) AS in_transaction;

-- settle/dead
INSERT INTO claimstream_dead (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at) SELECT q.id, q.queue, q.shard, m.ordering_key, m.headers, COALESCE(m.content_type, 'application/octet-stream'), COALESCE(m.payload, ''), COALESCE(m.first_at, m.created_at, UTC_TIMESTAMP(6)), q.attempts, :reason, UTC_TIMESTAMP(6) FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND q.id IN (:ids) AND q.claim_id = :claim;

-- settle/done
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND id IN (:ids) AND claim_id = :claim;

-- settle/done_whole
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND claim_id = :claim;

-- settle/find
SELECT id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND id IN (:ids) AND claim_id = :claim FOR UPDATE;

-- settle/release
UPDATE claimstream_queue SET available_at = claimed_from, attempts     = attempts - 1, claim_id     = NULL, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND id IN (:ids) AND claim_id = :claim;

-- settle/renew
UPDATE claimstream_queue SET available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :new_end MICROSECOND WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND id IN (:ids) AND claim_id = :claim;

-- settle/retry
UPDATE claimstream_queue SET available_at = UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND, attempts     = attempts - :uncounted, claim_id     = NULL, claimed_from = NULL, last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND id IN (:ids) AND claim_id = :claim;

-- settle/standing
SELECT id, (claim_id <=> :claim) AS ours FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND id IN (:ids);

-- settle/trace
SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at) AS lease_end FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND claim_id = :claim;

-- settle/uncount
UPDATE claimstream_queue SET attempts     = attempts - 1, claimed_from = claimed_from - INTERVAL 1 MICROSECOND WHERE queue = :queue AND shard = :shard AND available_at > UTC_TIMESTAMP(6) AND available_at <= UTC_TIMESTAMP(6) + INTERVAL 43200000000 MICROSECOND AND id IN (:ids) AND NOT (claim_id = :claim) AND claimed_from = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND attempts > 1;

-- shard_lease/charge
UPDATE claimstream_queue SET attempts     = attempts + 1, claim_id     = NULL, claimed_from = available_at WHERE queue = :queue AND shard = :shard AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND AND id IN (:ids);

-- shard_lease/count
UPDATE claimstream_queue SET attempts     = attempts + 1, claim_id     = NULL, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND AND id IN (:ids);

-- shard_lease/dead
INSERT INTO claimstream_dead (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at) SELECT q.id, q.queue, q.shard, m.ordering_key, m.headers, COALESCE(m.content_type, 'application/octet-stream'), COALESCE(m.payload, ''), COALESCE(m.first_at, m.created_at, UTC_TIMESTAMP(6)), q.attempts + 1, :reason, UTC_TIMESTAMP(6) FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND AND q.id IN (:ids);

-- shard_lease/done
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND AND id IN (:ids);

-- shard_lease/end
UPDATE claimstream_lease SET holder = NULL, label = NULL, fence = fence + 1, held_until = UTC_TIMESTAMP(6), in_flight = 0, flights = NULL, token = :token WHERE queue = :queue AND shard = :shard AND fence = :fence;

-- shard_lease/held
SELECT queue, CAST(shard AS SIGNED) AS shard, CAST(in_flight AS SIGNED) AS in_flight, flights, label, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', held_until) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS ends_in FROM claimstream_lease WHERE in_flight > 0 AND held_until > UTC_TIMESTAMP(6);

-- shard_lease/insert
INSERT INTO claimstream_lease (queue, shard, fence, held_until, in_flight, token) VALUES (:queue, :shard, 0, UTC_TIMESTAMP(6), 0, 0);

-- shard_lease/lock
SELECT 1 FROM claimstream_lease WHERE queue = :queue AND shard = :shard FOR UPDATE NOWAIT;

-- shard_lease/oldest
SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) - TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at) AS age FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= UTC_TIMESTAMP(6) AND COALESCE(parked_until <= UTC_TIMESTAMP(6), 1) ORDER BY available_at, id LIMIT :limit;

-- shard_lease/over
SELECT flights FROM claimstream_lease WHERE queue = :queue AND shard = :shard AND fence = :fence AND holder <> :holder AND held_until <= UTC_TIMESTAMP(6) FOR UPDATE NOWAIT;

-- shard_lease/park
UPDATE claimstream_queue SET attempts     = attempts + :counted, claim_id     = NULL, claimed_from = NULL, parked_until = UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND, last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND AND id IN (:ids) AND attempts <= :attempts;

-- shard_lease/peek
SELECT s.shard, CAST(l.fence AS SIGNED) AS fence, (l.holder IS NOT NULL AND l.holder <> :holder AND l.in_flight > 0) AS elsewhere FROM claimstream_shard s LEFT JOIN claimstream_lease l ON l.queue = :queue AND l.shard = s.shard WHERE (l.holder IS NULL OR l.holder = :holder OR l.held_until <= UTC_TIMESTAMP(6)) AND (SELECT /*+ NO_SKIP_SCAN(q) */ q.available_at FROM claimstream_queue q WHERE q.queue = :queue AND q.shard = s.shard AND NOT (q.available_at < TIMESTAMP'1970-01-01 00:00:00') ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT 1) <= UTC_TIMESTAMP(6) AND NOT EXISTS (SELECT 1 FROM claimstream_pause p WHERE p.queue = :queue AND p.shard IN (s.shard, 65535) AND (p.resumed_at IS NULL OR (p.shard <> 65535 AND p.resumed_at > UTC_TIMESTAMP(6))));

-- shard_lease/prove
UPDATE claimstream_lease SET in_flight = :in_flight, token     = :token WHERE queue = :queue AND shard = :shard AND fence = :fence AND holder = :holder;

-- shard_lease/read
SELECT q.id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) AS due_at, CAST(q.attempts AS SIGNED) AS attempts, q.last_error, (q.claimed_from IS NOT NULL) AS suspect, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.parked_until) AS parked_until, m.ordering_key, m.headers, m.content_type, CASE WHEN OCTET_LENGTH(m.payload) <= :inline THEN m.payload END AS payload, CAST(l.fence AS SIGNED) AS fence, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now, CAST(l.shard AS SIGNED) AS shard, CAST(OCTET_LENGTH(m.payload) AS SIGNED) AS bytes, (l.in_flight = 0) AS is_free FROM claimstream_lease l JOIN claimstream_queue q ON q.queue = :queue AND q.shard = :shard LEFT JOIN claimstream_message m ON m.id = q.id WHERE l.queue = :queue AND l.shard = :shard AND (l.holder IS NULL OR l.holder = :holder OR (l.in_flight = 0 AND l.held_until <= UTC_TIMESTAMP(6))) AND q.available_at <= UTC_TIMESTAMP(6) AND q.available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND ORDER BY q.available_at, q.id LIMIT :limit;

-- shard_lease/read_on
SELECT q.id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) AS due_at, CAST(q.attempts AS SIGNED) AS attempts, q.last_error, (q.claimed_from IS NOT NULL) AS suspect, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.parked_until) AS parked_until, m.ordering_key, NULL AS headers, m.content_type, NULL AS payload, NULL AS fence, NULL AS now, NULL AS bytes FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at <= UTC_TIMESTAMP(6) AND q.available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND AND (q.available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND OR q.id > :last) AND (m.ordering_key IS NULL OR m.ordering_key NOT IN (:keys)) ORDER BY q.available_at, q.id LIMIT :limit;

-- shard_lease/release
SELECT flights FROM claimstream_lease WHERE queue = :queue AND shard = :shard AND fence = :fence AND holder IS NOT NULL FOR UPDATE;

-- shard_lease/retry
UPDATE claimstream_queue SET available_at = UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND, attempts     = attempts + :counted, claim_id     = NULL, claimed_from = NULL, parked_until = NULL, last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :first MICROSECOND AND TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :last MICROSECOND AND id IN (:ids);

-- shard_lease/rights
INSERT INTO claimstream_lease SELECT * FROM claimstream_lease WHERE 1 = 0; UPDATE claimstream_lease SET queue = queue WHERE 1 = 0; DELETE FROM claimstream_lease WHERE 1 = 0;

-- shard_lease/token
SELECT CAST(fence AS SIGNED) AS fence, token FROM claimstream_lease WHERE queue = :queue AND shard = :shard;

-- shard_lease/tokens
SELECT CAST(shard AS SIGNED) AS shard, CAST(fence AS SIGNED) AS fence, token FROM claimstream_lease WHERE queue = :queue AND shard IN (:shards);

-- shard_lease/uncount
UPDATE claimstream_queue SET attempts     = attempts - 1, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND AND id IN (:ids) AND claimed_from IS NOT NULL AND attempts > 0;

-- shard_lease/write
UPDATE claimstream_lease SET holder     = :new_holder, label      = :label, fence      = :new_fence, held_until = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :until MICROSECOND, in_flight  = :in_flight, flights    = :flights, token      = :token WHERE queue = :queue AND shard = :shard AND fence = :fence AND (holder = :holder OR ((holder IS NULL OR (in_flight = 0 AND held_until <= UTC_TIMESTAMP(6))) AND :new_fence > fence));

-- shard_lease/write_all
UPDATE claimstream_lease FORCE INDEX (PRIMARY) SET holder     = CASE shard /*each*/ WHEN :shard THEN :new_holder /*end*/ ELSE holder END, label      = CASE shard /*each*/ WHEN :shard THEN :label /*end*/ ELSE label END, fence      = CASE shard /*each*/ WHEN :shard THEN :new_fence /*end*/ ELSE fence END, held_until = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL CASE shard /*each*/ WHEN :shard THEN :until /*end*/ ELSE 0 END MICROSECOND, in_flight  = CASE shard /*each*/ WHEN :shard THEN :in_flight /*end*/ ELSE in_flight END, flights    = CASE shard /*each*/ WHEN :shard THEN :flights /*end*/ ELSE flights END, token      = :token WHERE queue = :queue AND (1 = 0 /*each*/ OR (shard = :shard AND fence = :fence AND (holder = :holder OR :new_fence > :fence)) /*end*/) AND (holder = :holder OR holder IS NULL OR (in_flight = 0 AND held_until <= UTC_TIMESTAMP(6)));

-- steps/begin
INSERT INTO claimstream_step (scope, run, step, state, version, origin, fingerprint, result, created_at, changed_at) VALUES (:scope, :run, :step, :state, 1, :origin, :fingerprint, :result, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE version = version;

-- steps/change
UPDATE claimstream_step SET state      = :state, version    = version + 1, origin     = :origin, result     = COALESCE(:result, result), changed_at = UTC_TIMESTAMP(6) WHERE scope = :scope AND run = :run AND step = :step AND version = :version AND state = :from_state;

-- steps/find
SELECT CAST(state AS SIGNED) AS state, CAST(version AS SIGNED) AS version, fingerprint, result, origin FROM claimstream_step WHERE scope = :scope AND run = :run AND step = :step;

-- steps/forget
DELETE FROM claimstream_step WHERE scope = :scope AND run IN (:runs) AND changed_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND;

-- steps/lock
SELECT CAST(state AS SIGNED) AS state, CAST(version AS SIGNED) AS version, fingerprint, result, origin FROM claimstream_step WHERE scope = :scope AND run = :run AND step = :step FOR UPDATE;

-- steps/lock_now
SELECT CAST(state AS SIGNED) AS state, CAST(version AS SIGNED) AS version, fingerprint, result, origin FROM claimstream_step WHERE scope = :scope AND run = :run AND step = :step FOR UPDATE NOWAIT;

-- steps/of_run
SELECT step, CAST(state AS SIGNED) AS state, CAST(version AS SIGNED) AS version, TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) AS age, TIMESTAMPDIFF(MICROSECOND, changed_at, UTC_TIMESTAMP(6)) AS quiet FROM claimstream_step WHERE scope = :scope AND run = :run ORDER BY step LIMIT :limit;

-- steps/open_runs
SELECT o.scope, COUNT(DISTINCT o.run) AS runs, TIMESTAMPDIFF(DAY, MIN(o.changed_at), UTC_TIMESTAMP(6)) AS days FROM claimstream_step o WHERE o.changed_at < UTC_TIMESTAMP(6) - INTERVAL :kept MICROSECOND AND (   o.state = 255 OR (o.scope = 'tcc' AND o.state = 0) OR (o.scope = 'tcc-global' AND o.state IN (0, 1, 3)) OR (o.scope LIKE 'timer:%' AND o.step = '' AND o.state = 0) OR (o.scope LIKE 'saga:%' AND o.step = '' AND o.state IN (1, 2, 3)) OR (o.scope LIKE 'saga:%' AND o.step <> '' AND o.state IN (1, 3) AND NOT EXISTS (SELECT 1 FROM claimstream_step e WHERE e.scope = o.scope AND e.run = o.run AND e.step = ''))) GROUP BY o.scope ORDER BY o.scope;

-- steps/page
SELECT s.scope, s.run, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', s.changed_at) AS changed FROM claimstream_step s WHERE s.changed_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND AND s.changed_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND AND (s.scope LIKE 'timer:%') = :of_timers AND NOT EXISTS (SELECT 1 FROM claimstream_step y WHERE y.scope = s.scope AND y.run = s.run AND y.changed_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND) AND NOT EXISTS (SELECT 1 FROM claimstream_step o WHERE o.scope = s.scope AND o.run = s.run AND (   o.state = 255 OR (o.scope = 'tcc' AND o.state = 0) OR (o.scope = 'tcc-global' AND o.state IN (0, 1, 3)) OR (o.scope LIKE 'timer:%' AND o.step = '' AND o.state = 0) OR (o.scope LIKE 'saga:%' AND o.step = '' AND o.state IN (1, 2, 3)) OR (o.scope LIKE 'saga:%' AND o.step <> '' AND o.state IN (1, 3) AND NOT EXISTS (SELECT 1 FROM claimstream_step e WHERE e.scope = o.scope AND e.run = o.run AND e.step = ''))) ) ORDER BY s.changed_at LIMIT :limit;

-- steps/reach
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', s.changed_at) AS changed, s.scope, s.run, s.step FROM claimstream_step s FORCE INDEX (age) WHERE s.changed_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND AND s.changed_at <= UTC_TIMESTAMP(6) - INTERVAL :quiet MICROSECOND AND (s.changed_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND OR (s.scope, s.run, s.step) > (:after_scope, :after_run, :after_step)) ORDER BY s.changed_at, s.scope, s.run, s.step LIMIT 1 OFFSET :others;

-- steps/rights
INSERT INTO claimstream_step SELECT * FROM claimstream_step WHERE 1 = 0; UPDATE claimstream_step SET scope = scope WHERE 1 = 0; DELETE FROM claimstream_step WHERE 1 = 0; INSERT INTO claimstream_saga SELECT * FROM claimstream_saga WHERE 1 = 0; UPDATE claimstream_saga SET scope = scope WHERE 1 = 0; DELETE FROM claimstream_saga WHERE 1 = 0; INSERT INTO claimstream_lock SELECT * FROM claimstream_lock WHERE 1 = 0; UPDATE claimstream_lock SET fence = fence WHERE 1 = 0; DELETE FROM claimstream_lock WHERE 1 = 0;

-- steps/runs
SELECT s.scope, s.run, s.step, CAST(s.state AS SIGNED) AS state, CAST(s.version AS SIGNED) AS version, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', s.changed_at) AS changed, TIMESTAMPDIFF(MICROSECOND, s.created_at, UTC_TIMESTAMP(6)) AS age, TIMESTAMPDIFF(MICROSECOND, (SELECT MAX(y.changed_at) FROM claimstream_step y FORCE INDEX (PRIMARY) WHERE y.scope = s.scope AND y.run = s.run), UTC_TIMESTAMP(6)) AS quiet FROM claimstream_step s FORCE INDEX (age) WHERE s.changed_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND AND s.changed_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :to MICROSECOND AND s.changed_at <= UTC_TIMESTAMP(6) - INTERVAL :quiet MICROSECOND AND (s.changed_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND OR (s.scope, s.run, s.step) > (:after_scope, :after_run, :after_step)) AND (s.changed_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :to MICROSECOND OR (s.scope, s.run, s.step) <= (:to_scope, :to_run, :to_step)) AND s.scope >= :first AND s.scope < :end AND s.step <= :last_step AND s.state NOT IN (:ended) AND (SELECT MAX(o.changed_at) FROM claimstream_step o FORCE INDEX (PRIMARY) WHERE o.scope = s.scope AND o.run = s.run) <= UTC_TIMESTAMP(6) - INTERVAL :quiet MICROSECOND ORDER BY s.changed_at, s.scope, s.run, s.step LIMIT :limit;

-- sweep/dedup
DELETE FROM claimstream_dedup WHERE queue = :queue AND dedup_key IN (:keys);

-- sweep/delete
DELETE FROM claimstream_message WHERE id IN (:ids) AND created_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND;

-- sweep/history
SELECT CAST(`COUNT` AS SIGNED) AS history FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len';

-- sweep/instances
DELETE FROM claimstream_instance WHERE seen_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND;

-- sweep/keys
SELECT d.queue, d.dedup_key, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', d.created_at) AS created_at FROM claimstream_dedup d LEFT JOIN claimstream_message m ON m.id = d.message_id WHERE d.created_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND AND d.created_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND AND m.id IS NULL AND NOT EXISTS (SELECT 1 FROM claimstream_dead x WHERE x.id = d.message_id) ORDER BY d.created_at LIMIT :limit;

-- sweep/keys_lock
SELECT dedup_key, message_id FROM claimstream_dedup WHERE queue = :queue AND dedup_key IN (:keys) AND created_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND ORDER BY dedup_key FOR UPDATE;

-- sweep/left
SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', created_at) AS stored_at, TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) AS age FROM claimstream_message WHERE id IN (:ids);

-- sweep/live
SELECT q.id, q.queue, CAST(q.shard AS SIGNED) AS shard, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) AS due_at FROM claimstream_queue q WHERE NOT (q.available_at < TIMESTAMP'1970-01-01 00:00:00') AND (q.queue > :queue OR (q.queue = :queue AND q.shard > :shard) OR (q.queue = :queue AND q.shard = :shard AND q.available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND) OR (q.queue = :queue AND q.shard = :shard AND q.available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND AND q.id > :after)) ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT :limit;

-- sweep/page
SELECT m.id FROM claimstream_message m WHERE m.id > :after AND m.id <= :last AND m.created_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND ORDER BY m.id LIMIT :limit;

-- sweep/unreadable
SELECT q.id FROM (SELECT queue, shard FROM claimstream_queue FORCE INDEX (PRIMARY) GROUP BY queue, shard HAVING MIN(available_at) < TIMESTAMP'1970-01-01 00:00:00') place STRAIGHT_JOIN claimstream_queue q FORCE INDEX (PRIMARY) ON q.queue = place.queue AND q.shard = place.shard AND (q.available_at < TIMESTAMP'1970-01-01 00:00:00') WHERE q.id > :after ORDER BY q.id LIMIT :limit;

-- templates/draft
SELECT draft, CAST(revision AS SIGNED) AS revision, TIMESTAMPDIFF(MICROSECOND, changed_at, UTC_TIMESTAMP(6)) AS age FROM claimstream_template WHERE template_id = :template;

-- templates/page
SELECT t.template_id AS id, CAST(t.revision AS SIGNED) AS revision, TIMESTAMPDIFF(MICROSECOND, t.changed_at, UTC_TIMESTAMP(6)) AS age, (SELECT CAST(MAX(v.number) AS SIGNED) FROM claimstream_template_version v WHERE v.template_id = t.template_id) AS published FROM claimstream_template t WHERE t.template_id > :after ORDER BY t.template_id LIMIT :limit;

-- templates/publication
SELECT publication FROM claimstream_template_version WHERE template_id = :template AND number = :number;

-- templates/publish
INSERT INTO claimstream_template_version (template_id, number, content, restores, publication, published_at) SELECT :template, :number, :content, :restores, :publication, UTC_TIMESTAMP(6) FROM (SELECT COALESCE(MAX(number), 0) AS newest FROM claimstream_template_version WHERE template_id = :template) AS last WHERE last.newest = :number - 1;

-- templates/published
SELECT content FROM claimstream_template_version WHERE template_id = :template ORDER BY number DESC LIMIT 1;

-- templates/save
INSERT INTO claimstream_template (template_id, revision, draft, changed_at) VALUES (:template, 1, :draft, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE revision = CASE WHEN draft = :draft THEN revision ELSE revision + 1 END, changed_at = CASE WHEN draft = :draft THEN changed_at ELSE UTC_TIMESTAMP(6) END, draft = :draft;

-- templates/version
SELECT content FROM claimstream_template_version WHERE template_id = :template AND number = :number;

-- templates/versions
SELECT CAST(number AS SIGNED) AS version, CAST(restores AS SIGNED) AS restores, TIMESTAMPDIFF(MICROSECOND, published_at, UTC_TIMESTAMP(6)) AS age FROM claimstream_template_version WHERE template_id = :template AND number < :below ORDER BY number DESC LIMIT :limit;

-- topology/group
SELECT CONCAT(MEMBER_HOST, ':', MEMBER_PORT) AS member, MEMBER_STATE AS state, MEMBER_ROLE AS role, MEMBER_ID = @@server_uuid AS is_self FROM performance_schema.replication_group_members;

-- topology/replica
SHOW REPLICA STATUS;

-- topology/settings
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', 'innodb_read_only', 'offline_mode', 'hostname', 'port', 'server_id', 'server_uuid', 'wsrep_on', 'wsrep_reject_queries', 'wsrep_sync_wait', 'group_replication_group_name', 'group_replication_single_primary_mode', 'group_replication_consistency', 'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled');

-- topology/status
SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_cluster_size', 'wsrep_cluster_state_uuid', 'wsrep_local_state', 'wsrep_local_state_comment', 'wsrep_flow_control_paused', 'Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients', 'Slaves_connected');

-- twins/end
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :due_at MICROSECOND AND id = :id;

-- twins/find
SELECT id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= UTC_TIMESTAMP(6) GROUP BY id HAVING COUNT(*) > 1 LIMIT :limit;

-- twins/lock
SELECT id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at) AS due_at FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= UTC_TIMESTAMP(6) AND id IN (:ids) ORDER BY available_at, id FOR UPDATE;
