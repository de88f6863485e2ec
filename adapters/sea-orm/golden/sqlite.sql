-- alive/dead
SELECT (SELECT MIN(CASE TYPEOF(d.created_at) WHEN 'integer' THEN d.created_at WHEN 'null' THEN NULL ELSE 0 END) FROM claimstream_dead d) AS created_at, (SELECT MIN(CASE TYPEOF(d.created_at) WHEN 'integer' THEN d.created_at WHEN 'null' THEN NULL ELSE 0 END) FROM claimstream_dead d WHERE NOT EXISTS (SELECT 1 FROM claimstream_dedup k WHERE k.queue = d.queue AND k.dedup_key >= 'timer/' AND k.dedup_key < 'timer0' AND k.message_id = d.id)) AS but_ticks;

-- alive/live
SELECT q.id, q.queue, q.shard, q.available_at AS due_at, CASE TYPEOF(COALESCE(m.first_at, m.created_at)) WHEN 'integer' THEN COALESCE(m.first_at, m.created_at) WHEN 'null' THEN NULL ELSE 0 END AS first_at FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE (q.queue, q.shard, q.available_at, q.id) > (CAST(:queue AS TEXT), :shard, :due_at, :after) AND NOT (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT :limit;

-- alive/unreadable
SELECT MIN(CASE TYPEOF(COALESCE(m.first_at, m.created_at)) WHEN 'integer' THEN COALESCE(m.first_at, m.created_at) WHEN 'null' THEN NULL ELSE 0 END) AS first_at FROM claimstream_queue q JOIN claimstream_message m ON m.id = q.id WHERE (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16);

-- attempts/forget
DELETE FROM claimstream_notification_attempt WHERE message_id IN (:ids);

-- attempts/note
INSERT INTO claimstream_notification_attempt (message_id, claim_id, call_number, number, provider, began_at, took, class, acceptance, reason, reference) VALUES (:message, :claim, :call, :number, :provider, :now - :ago, :took, :class, :acceptance, :reason, :reference) ON CONFLICT DO NOTHING;

-- attempts/orphans
SELECT a.message_id, (m.id IS NULL AND a.began_at < :bound) AS is_orphan FROM claimstream_notification_attempt a LEFT JOIN claimstream_notification_message m ON m.id = a.message_id WHERE a.message_id > :after ORDER BY a.message_id, a.claim_id, a.call_number LIMIT :limit;

-- attempts/page
SELECT message_id, claim_id, call_number, number, provider, :now - began_at AS ago, took, class, acceptance, reason, reference FROM claimstream_notification_attempt WHERE message_id IN (:ids) ORDER BY message_id, began_at, call_number;

-- audit/forget_older
DELETE FROM claimstream_audit WHERE number IN (SELECT number FROM claimstream_audit WHERE noted_at < :now - :age ORDER BY noted_at LIMIT :limit);

-- audit/note
INSERT INTO claimstream_audit (noted_at, actor, action, subject, affected) VALUES (:now, :actor, :action, :subject, :affected);

-- audit/page
SELECT number, :now - noted_at AS age, actor, action, subject, affected FROM claimstream_audit WHERE number < :before ORDER BY number DESC LIMIT :limit;

-- bench/beat
UPDATE claimstream_bench SET beats = beats + 1 WHERE id = 1;

-- bench/look
SELECT 1 AS one;

-- bench/row
INSERT INTO claimstream_bench (id, beats) VALUES (1, 0);

-- bench/table
CREATE TABLE claimstream_bench ( id     INTEGER NOT NULL PRIMARY KEY, beats  BIGINT  NOT NULL );

-- claim/body
SELECT id, ordering_key, headers, content_type, CASE WHEN LENGTH(payload) <= :inline THEN payload END AS payload, LENGTH(payload) AS bytes FROM claimstream_message WHERE id IN (:ids);

-- claim/instance
INSERT INTO claimstream_instance (instance, label, seen_at) VALUES (:instance, :label, :now) ON CONFLICT (instance) DO UPDATE SET label = :label, seen_at = :now;

-- claim/peek
SELECT s.shard FROM claimstream_shard s WHERE (SELECT  q.available_at FROM claimstream_queue q WHERE q.queue = :queue AND q.shard = s.shard AND NOT (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT 1) <= :now AND NOT EXISTS (SELECT 1 FROM claimstream_pause p WHERE p.queue = :queue AND p.shard IN (s.shard, 65535) AND (p.resumed_at IS NULL OR (p.shard <> 65535 AND p.resumed_at > :now)));

-- claim/read
SELECT q.id, q.shard AS shard, q.attempts AS attempts, q.claimed_from   AS claimed_from, q.last_error, m.ordering_key, m.headers, m.content_type, CASE WHEN LENGTH(m.payload) <= :inline THEN m.payload END AS payload, LENGTH(m.payload) AS bytes, :now AS now FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard IN (:shards) AND q.available_at = :lease_end AND q.claim_id = :claim;

-- claim/take
UPDATE claimstream_queue SET claimed_from = available_at, available_at = :lease_end, claim_id     = :claim, attempts     = attempts + 1 WHERE (queue, shard, available_at, id) IN ( SELECT queue, shard, available_at, id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= :now AND available_at >= :low AND claim_id IS NOT :claim AND TYPEOF(id) = 'blob' AND LENGTH(id) = 16 ORDER BY available_at, id LIMIT :limit);

-- dead_letters/bare
SELECT d.id FROM claimstream_dead d LEFT JOIN claimstream_message m ON m.id = d.id WHERE d.id > :after AND m.id IS NULL AND TYPEOF(d.id) = 'blob' AND LENGTH(d.id) = 16 ORDER BY d.id LIMIT :limit;

-- dead_letters/body
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at) SELECT d.id, d.queue, d.shard, d.ordering_key, d.headers, d.content_type, d.payload, d.created_at FROM claimstream_dead d WHERE d.id IN (:ids) ON CONFLICT DO NOTHING;

-- dead_letters/count
SELECT COUNT(*) AS letters FROM (SELECT 1 AS one FROM claimstream_dead WHERE queue = :queue AND died_at <= :bound LIMIT :most) AS some;

-- dead_letters/count_reason
SELECT COUNT(*) AS letters FROM (SELECT 1 AS one FROM claimstream_dead WHERE queue = :queue AND died_at <= :bound AND reason = :reason LIMIT :most) AS some;

-- dead_letters/delete
DELETE FROM claimstream_dead WHERE id IN (:ids);

-- dead_letters/known
SELECT id FROM claimstream_dead WHERE id IN (:ids);

-- dead_letters/list
SELECT id, queue, shard, ordering_key, headers, content_type, payload, attempts, reason, :now - died_at AS dead_for FROM claimstream_dead WHERE id IN (:ids);

-- dead_letters/listed
SELECT d.id, d.queue, d.attempts, d.reason, d.died_at AS died, :now - d.died_at AS dead_for FROM claimstream_dead d WHERE d.id IN (:ids) AND TYPEOF(d.died_at) = 'integer' AND d.died_at >= 0;

-- dead_letters/lock
SELECT id FROM claimstream_dead WHERE id IN (:ids) AND died_at <= :bound ORDER BY id;

-- dead_letters/newest
SELECT d.id, d.queue, d.attempts, d.reason, d.died_at AS died, :now - d.died_at AS dead_for FROM claimstream_dead d WHERE d.queue = :queue AND d.died_at <= :bound AND (d.died_at < :bound OR d.id < :after) AND TYPEOF(d.died_at) = 'integer' AND d.died_at >= 0 AND TYPEOF(d.id) = 'blob' AND LENGTH(d.id) = 16 ORDER BY d.died_at DESC, d.id DESC LIMIT :limit;

-- dead_letters/next_queue
SELECT queue FROM claimstream_dead WHERE queue > CAST(:after AS TEXT) AND queue < X'' ORDER BY queue LIMIT 1;

-- dead_letters/others
SELECT d.id FROM claimstream_dead d JOIN claimstream_message m ON m.id = d.id WHERE d.id IN (:ids) AND COALESCE(m.first_at, m.created_at) <> d.created_at;

-- dead_letters/rename
UPDATE claimstream_dead SET id = :fresh WHERE id = :id;

-- dead_letters/revive_message
UPDATE claimstream_message SET first_at   = COALESCE(first_at, created_at), created_at = :now WHERE id IN (:ids);

-- dead_letters/revive_queue
INSERT INTO claimstream_queue (queue, shard, available_at, id, last_error) SELECT queue, shard, :now, id, CASE WHEN reason LIKE 'may have been accepted by %; %' THEN reason END FROM claimstream_dead WHERE id IN (:ids);

-- digests/close
DELETE FROM claimstream_digest WHERE digest_key IN (:keys) AND digest_id IN (:ids);

-- digests/forget
DELETE FROM claimstream_digest_item WHERE id IN (:ids);

-- digests/item
INSERT INTO claimstream_digest_item (id, digest_id, item, created_at) VALUES (:id, :digest_id, :item, :now);

-- digests/items
SELECT i.digest_id, i.item, (SELECT m.status FROM claimstream_notification_message m WHERE m.id = i.id) AS status FROM claimstream_digest_item i WHERE i.digest_id IN (:ids) ORDER BY i.digest_id, i.created_at, i.id;

-- digests/join
INSERT INTO claimstream_digest (digest_key, digest_id, items, closes_at) VALUES (:key, :id, :items, MIN(:now + :window, 253402300799999999)) ON CONFLICT (digest_key) DO UPDATE SET digest_id = CASE WHEN closes_at <= :now OR items >= :most THEN excluded.digest_id ELSE digest_id END, items = CASE WHEN closes_at <= :now OR items >= :most THEN excluded.items ELSE items + excluded.items END, closes_at = CASE WHEN closes_at <= :now OR items >= :most THEN excluded.closes_at ELSE closes_at END;

-- digests/joined
SELECT digest_key, digest_id FROM claimstream_digest WHERE digest_key IN (:keys) ORDER BY digest_key;

-- digests/known
SELECT id FROM claimstream_digest_item WHERE id IN (:ids);

-- digests/opened
SELECT digest_key FROM claimstream_digest WHERE digest_id IN (:ids);

-- directory/leave_segments
DELETE FROM claimstream_directory_member WHERE user_id = :user;

-- directory/members
SELECT user_id FROM claimstream_directory_member WHERE segment = :segment AND user_id > :after AND user_id < X'' ORDER BY user_id LIMIT :limit;

-- directory/page
SELECT user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes FROM claimstream_directory_user WHERE user_id > :after AND user_id < X'' ORDER BY user_id LIMIT :limit;

-- directory/put_member
INSERT INTO claimstream_directory_member (segment, user_id) VALUES (:segment, :user) ON CONFLICT DO NOTHING;

-- directory/put_segment
INSERT INTO claimstream_directory_segment (segment, created_at) VALUES (:segment, :now) ON CONFLICT DO NOTHING;

-- directory/put_user
REPLACE INTO claimstream_directory_user (user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes, changed_at) VALUES (:user, :email, :phone, :device_token, :webhook, :chat, :language, :time_zone, :attributes, :now);

-- directory/remove_members
DELETE FROM claimstream_directory_member WHERE segment = :segment AND user_id IN (:users);

-- directory/remove_user
DELETE FROM claimstream_directory_user WHERE user_id = :user;

-- directory/segment
SELECT segment FROM claimstream_directory_segment WHERE segment = :segment;

-- directory/segments
SELECT segment FROM claimstream_directory_member WHERE user_id = :user ORDER BY segment LIMIT :limit;

-- directory/share
SELECT user_id FROM claimstream_directory_user WHERE user_id IN (:users);

-- directory/users
SELECT user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes FROM claimstream_directory_user WHERE user_id IN (:users);

-- doctor/clock
SELECT MAX(seen_at) - :now AS ahead FROM claimstream_instance;

-- doctor/ids
SELECT (SELECT COUNT(*) FROM claimstream_dead d LEFT JOIN claimstream_message m ON m.id = d.id WHERE m.id IS NULL)                                      AS bare, (SELECT COUNT(*) FROM claimstream_dead d JOIN claimstream_message m ON m.id = d.id WHERE COALESCE(m.first_at, m.created_at) <> d.created_at) AS reused, (SELECT COUNT(*) FROM (SELECT id FROM claimstream_queue GROUP BY queue, shard, id HAVING COUNT(*) > 1) t)                           AS doubled;

-- doctor/strategies
SELECT held.queue, held.ends_in, (SELECT MAX(q.available_at) - :now FROM claimstream_shard s JOIN claimstream_queue q ON q.queue = held.queue AND q.shard = s.shard AND q.available_at > :now AND q.available_at <= :now + 43200000000 WHERE q.claim_id IS NOT NULL)                                            AS marked_until FROM (SELECT queue, MAX(held_until) - :now AS ends_in FROM claimstream_lease WHERE in_flight > 0 AND held_until > :now GROUP BY queue) held ORDER BY held.queue;

-- enqueue/dedup
INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at) VALUES (:queue, :dedup_key, :id, :now) ON CONFLICT DO NOTHING;

-- enqueue/dedup_or_fail
INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at) VALUES (:queue, :dedup_key, :id, :now);

-- enqueue/dedup_read
SELECT message_id FROM claimstream_dedup WHERE queue = :queue AND dedup_key IN (:keys);

-- enqueue/discard
DELETE FROM claimstream_message WHERE id IN (:ids);

-- enqueue/known
SELECT id FROM claimstream_message WHERE id IN (:ids);

-- enqueue/message
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at) VALUES (:id, :queue, :shard, :ordering_key, :headers, :content_type, :payload, :now);

-- enqueue/queue
INSERT INTO claimstream_queue (queue, shard, available_at, id) VALUES (:queue, :shard, COALESCE(:at, MIN(:now + :after, 253402300799999999)), :id);

-- erasures/forget_older
DELETE FROM claimstream_erased_recipient WHERE recipient_hash IN (SELECT e.recipient_hash FROM claimstream_erased_recipient e WHERE e.erased_at < :bound AND e.erased_at < COALESCE((SELECT MIN(r.created_at) FROM claimstream_notification_request r), :bound) ORDER BY e.erased_at LIMIT :limit);

-- erasures/held
SELECT recipient_hash, erased_at AS erased_at FROM claimstream_erased_recipient WHERE recipient_hash IN (:hashes) AND erased_at IS NOT NULL;

-- erasures/hold
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at) VALUES (:hash, NULL) ON CONFLICT DO NOTHING;

-- erasures/keep
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at) VALUES (:hash, :erased_at);

-- erasures/note
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at) VALUES (:hash, :now) ON CONFLICT (recipient_hash) DO UPDATE SET erased_at = MAX(COALESCE(erased_at + :moment, :now), :now);

-- erasures/oldest
SELECT erased_at AS erased_at FROM claimstream_erased_recipient WHERE erased_at < :bound ORDER BY erased_at LIMIT 1;

-- erasures/release
DELETE FROM claimstream_erased_recipient WHERE recipient_hash IN (:hashes);

-- erasures/requests
SELECT id, request, created_at AS created_at FROM claimstream_notification_request WHERE id IN (:ids);

-- in_app/erased
SELECT id FROM claimstream_notification_message WHERE id IN (:ids) AND recipient = :erased ORDER BY id;

-- in_app/forget_older
DELETE FROM claimstream_in_app WHERE id IN (SELECT id FROM claimstream_in_app WHERE created_at < :now - :age ORDER BY created_at LIMIT :limit);

-- in_app/forget_user
DELETE FROM claimstream_in_app WHERE id IN (SELECT id FROM claimstream_in_app WHERE user_id = :user LIMIT :limit);

-- in_app/mark_read
UPDATE claimstream_in_app SET is_read = 1 WHERE id IN (:ids) AND user_id = :user AND is_read = 0;

-- in_app/mark_read_up_to
UPDATE claimstream_in_app SET is_read = 1 WHERE id IN (SELECT id FROM claimstream_in_app WHERE user_id = :user AND is_read = 0 AND created_at <= :bound LIMIT :limit);

-- in_app/newest
SELECT created_at AS created_at FROM claimstream_in_app WHERE id = :id AND user_id = :user;

-- in_app/page
SELECT id, user_id, request_id, content, is_read AS is_read, :now - created_at AS age FROM claimstream_in_app WHERE user_id = :user AND is_read <= :most_read ORDER BY created_at DESC, id DESC LIMIT :limit;

-- in_app/page_after
SELECT e.id, e.user_id, e.request_id, e.content, e.is_read AS is_read, :now - e.created_at AS age FROM claimstream_in_app a JOIN claimstream_in_app e ON e.user_id = a.user_id WHERE a.id = :after AND a.user_id = :user AND e.is_read <= :most_read AND e.created_at <= a.created_at AND (e.created_at < a.created_at OR e.id < a.id) ORDER BY e.created_at DESC, e.id DESC LIMIT :limit;

-- in_app/put
INSERT INTO claimstream_in_app (id, user_id, request_id, content, is_read, created_at) VALUES (:id, :user, :request_id, :content, 0, :now) ON CONFLICT DO NOTHING;

-- in_app/recent
SELECT id, user_id, request_id, content, is_read AS is_read, :now - created_at AS age FROM claimstream_in_app WHERE user_id IN (:users) AND created_at >= :now - :within ORDER BY created_at DESC, id DESC LIMIT :limit;

-- in_app/unread
SELECT COUNT(*) AS unread FROM (SELECT 1 FROM claimstream_in_app WHERE user_id = :user AND is_read = 0 LIMIT :limit) some;

-- locks/forget
DELETE FROM claimstream_lock WHERE lock_key IN (SELECT lock_key FROM claimstream_lock WHERE held_until < :bound ORDER BY held_until LIMIT :limit) AND held_until < :bound;

-- locks/list
SELECT lock_key, fence AS fence, CASE WHEN token = :free THEN 0 ELSE held_until - :now END AS ends_in FROM claimstream_lock WHERE lock_key >= :first ORDER BY lock_key LIMIT :limit;

-- locks/make
INSERT INTO claimstream_lock (lock_key, fence, held_until, token) VALUES (:key, :now, :now + :lease, :token);

-- locks/read
SELECT fence AS fence, token = :token AS is_ours FROM claimstream_lock WHERE lock_key = :key;

-- locks/release
UPDATE claimstream_lock SET held_until = :now, token      = :free WHERE lock_key = :key AND fence = :fence AND held_until > :now AND token <> :free;

-- locks/renew
UPDATE claimstream_lock SET held_until = :now + :lease, token      = :token WHERE lock_key = :key AND fence = :fence AND held_until > :now AND token <> :free;

-- locks/take
UPDATE claimstream_lock SET fence      = MAX(fence + 1, :now), held_until = :now + :lease, token      = :token WHERE lock_key = :key AND (held_until <= :now OR token = :free);

-- notifications/are_used
SELECT EXISTS (SELECT 1 FROM claimstream_notification_request) AS used;

-- notifications/erase_attempts
UPDATE claimstream_notification_attempt SET reason = CASE WHEN reason IS NOT NULL THEN :erased END, reference = NULL WHERE message_id IN (:ids) AND (reason IS NOT NULL OR reference IS NOT NULL);

-- notifications/erase_body
UPDATE claimstream_message SET payload = :payload, headers = NULL WHERE id = :id AND queue IN (:queues);

-- notifications/erase_dead
UPDATE claimstream_dead SET payload = :payload, headers = NULL, reason = :erased WHERE id = :id AND queue IN (:queues);

-- notifications/erase_fingerprint
INSERT INTO claimstream_notification_erasure (request_id, fingerprint, erased_at) VALUES (:id, :fingerprint, :now) ON CONFLICT DO NOTHING;

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
UPDATE claimstream_notification_message SET status = :status, reason = CASE recipient WHEN :erased THEN NULL ELSE :reason END, reference = CASE recipient WHEN :erased THEN NULL ELSE :reference END, changed_at = :now WHERE id IN (:ids) AND (status = 'PENDING' OR (status <> 'DELIVERED' AND :status = 'DELIVERED') OR (status = 'FAILED' AND :status = 'SKIPPED'));

-- notifications/message_conclude_each
UPDATE claimstream_notification_message SET status = ended.column2, reason = CASE recipient WHEN :erased THEN NULL ELSE ended.column3 END, reference = CASE recipient WHEN :erased THEN NULL ELSE ended.column4 END, changed_at = :now FROM (VALUES (:id, :status, :reason, :reference)) AS ended WHERE id = ended.column1 AND (claimstream_notification_message.status = 'PENDING' OR (claimstream_notification_message.status <> 'DELIVERED' AND ended.column2 = 'DELIVERED') OR (claimstream_notification_message.status = 'FAILED' AND ended.column2 = 'SKIPPED'));

-- notifications/message_page
SELECT id, channel, recipient, status, reason, reference FROM claimstream_notification_message WHERE request_id = :id AND id > :after ORDER BY id LIMIT :limit;

-- notifications/message_pending
SELECT id FROM claimstream_notification_message WHERE request_id = :id AND id > :after AND status = 'PENDING' ORDER BY id LIMIT :limit;

-- notifications/message_read
SELECT id, request_id, channel, recipient, status, reason, reference FROM claimstream_notification_message WHERE id = :id;

-- notifications/message_record
INSERT INTO claimstream_notification_message (id, request_id, channel, recipient, status, reason, created_at, changed_at) VALUES (:id, :request_id, :channel, :recipient, :status, :reason, :now, :now);

-- notifications/message_reopen
UPDATE claimstream_notification_message SET status = :status, reason = :reason, changed_at = :now WHERE id = :id AND status = 'FAILED';

-- notifications/message_state
SELECT id, status, NULL AS provider FROM claimstream_notification_message WHERE id IN (:ids) UNION ALL SELECT message_id AS id, NULL AS status, provider FROM claimstream_notification_attempt WHERE message_id IN (:ids) AND acceptance <> 'NOT_ACCEPTED';

-- notifications/message_status
SELECT id, status FROM claimstream_notification_message WHERE id IN (:ids);

-- notifications/message_take_back
UPDATE claimstream_notification_message SET status = 'CANCELLED', changed_at = :now WHERE id IN (:ids) AND status = 'PENDING';

-- notifications/outbox_find
SELECT available_at AS due_at FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at >= :from AND available_at > :now AND id = :id AND claim_id IS NULL LIMIT 1;

-- notifications/outbox_remove
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :due_at AND available_at > :now AND id = :id AND claim_id IS NULL;

-- notifications/request_cancel
UPDATE claimstream_notification_request SET status = 'CANCELLED', changed_at = :now WHERE id = :id;

-- notifications/request_counts
SELECT status, NULL AS kind, COUNT(*) AS messages FROM claimstream_notification_message WHERE request_id = :id GROUP BY status UNION ALL SELECT NULL AS status, r.kind, COUNT(*) AS messages FROM claimstream_notification_message m CROSS JOIN claimstream_notification_receipt r  ON r.message_id = m.id WHERE m.request_id = :id GROUP BY r.kind;

-- notifications/request_dispatch
UPDATE claimstream_notification_request SET status = 'DISPATCHED', changed_at = :now WHERE id IN (:ids) AND status IN ('PENDING', 'PROCESSING');

-- notifications/request_hold
SELECT status, request, created_at AS created_at FROM claimstream_notification_request WHERE id = :id;

-- notifications/request_insert
INSERT INTO claimstream_notification_request (id, status, request, created_at, changed_at) VALUES (:id, 'PENDING', :request, :now, :now);

-- notifications/request_known
SELECT id FROM claimstream_notification_request WHERE id IN (:ids);

-- notifications/request_list
SELECT r.id, r.status, :now - r.created_at AS age, json_extract(CAST(r.request AS TEXT), '$.requester.type') AS kind, json_extract(CAST(r.request AS TEXT), '$.requester.id') AS requester FROM claimstream_notification_request r ORDER BY r.created_at DESC, r.id DESC LIMIT :limit;

-- notifications/request_list_after
SELECT r.id, r.status, :now - r.created_at AS age, json_extract(CAST(r.request AS TEXT), '$.requester.type') AS kind, json_extract(CAST(r.request AS TEXT), '$.requester.id') AS requester FROM claimstream_notification_request r JOIN claimstream_notification_request a ON a.id = :after WHERE r.created_at <= a.created_at AND (r.created_at < a.created_at OR r.id < a.id) ORDER BY r.created_at DESC, r.id DESC LIMIT :limit;

-- notifications/request_listed
SELECT r.id, r.status, :now - r.created_at AS age, json_extract(CAST(r.request AS TEXT), '$.requester.type') AS kind, json_extract(CAST(r.request AS TEXT), '$.requester.id') AS requester FROM claimstream_notification_request r WHERE r.id = :id;

-- notifications/request_lock
SELECT id, status, reason FROM claimstream_notification_request WHERE id IN (:ids) ORDER BY id;

-- notifications/request_move
UPDATE claimstream_notification_request SET status = :status, reason = :reason, changed_at = :now WHERE id IN (:ids);

-- notifications/request_of_message
SELECT status FROM claimstream_notification_request WHERE id = (SELECT m.request_id FROM claimstream_notification_message m WHERE m.id = :id);

-- notifications/request_read
SELECT id, request, status FROM claimstream_notification_request WHERE id IN (:ids);

-- notifications/request_status
SELECT status, reason FROM claimstream_notification_request WHERE id = :id;

-- notifications/request_taken
SELECT r.id, r.request, e.fingerprint FROM claimstream_notification_request r LEFT JOIN claimstream_notification_erasure e ON e.request_id = r.id WHERE r.id IN (:ids);

-- observe/claimed
SELECT COUNT(*) AS claimed FROM claimstream_queue WHERE queue IN (:queues) AND claim_id IS NOT NULL AND available_at > :now;

-- observe/dead
SELECT queue, COUNT(*) AS dead FROM claimstream_dead GROUP BY queue;

-- observe/find
SELECT q.id, q.attempts, q.last_error, q.claim_id IS NOT NULL AS claimed, i.label AS holder, q.available_at - :now AS available_in, q.parked_until - :now AS parked_for FROM (SELECT available_at, id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at >= :from ORDER BY available_at, id LIMIT :most) AS near JOIN claimstream_queue q ON q.queue = :queue AND q.shard = :shard AND q.available_at = near.available_at AND q.id = near.id LEFT JOIN claimstream_instance i ON i.instance = SUBSTRING(q.claim_id, 1, 8) WHERE near.id IN (:ids);

-- observe/first_key
SELECT MIN(dedup_key) AS dedup_key FROM claimstream_dedup WHERE queue = :queue AND dedup_key >= :from AND dedup_key < :end;

-- observe/instances
SELECT instance, label, :now - seen_at AS seen FROM claimstream_instance WHERE instance > :after ORDER BY instance LIMIT :limit;

-- observe/kept
SELECT queue, shard AS shard, ordering_key, headers, content_type, LENGTH(payload) AS bytes, :now - created_at AS age, :now - first_at AS first_age FROM claimstream_message WHERE id = :id;

-- observe/key_queue
SELECT MIN(queue) AS queue FROM claimstream_dedup WHERE queue > CAST(:after AS TEXT) AND queue < X'';

-- observe/keyed
SELECT message_id, :now - created_at AS taken FROM claimstream_dedup WHERE queue = :queue AND dedup_key = :dedup_key;

-- observe/last_key
SELECT MAX(dedup_key) AS dedup_key FROM claimstream_dedup WHERE queue = :queue AND dedup_key >= :from AND dedup_key < :end;

-- observe/lease
SELECT queue, shard AS shard, label, fence, held_until - :now AS ends_in, in_flight AS in_flight, flights, :now AS now FROM claimstream_lease WHERE queue = :queue AND shard = :shard;

-- observe/leased
SELECT COALESCE(SUM(in_flight), 0) AS leased FROM claimstream_lease WHERE queue IN (:queues) AND held_until > :now;

-- observe/leases
SELECT queue, shard AS shard, label, fence, held_until - :now AS ends_in, in_flight AS in_flight FROM claimstream_lease WHERE queue >= :queue AND (queue > :queue OR shard > :shard) ORDER BY claimstream_lease.queue, claimstream_lease.shard LIMIT :limit;

-- observe/leases_of
SELECT queue, shard AS shard, label, fence, held_until - :now AS ends_in, in_flight AS in_flight FROM claimstream_lease WHERE queue = :queue ORDER BY claimstream_lease.shard;

-- observe/live
SELECT q.queue AS queue, q.shard AS shard, COUNT(*) AS depth, COUNT(CASE WHEN q.available_at <= :now AND (q.parked_until IS NULL OR q.parked_until <= :now) AND NOT (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) THEN 1 END) AS due, COUNT(CASE WHEN q.claim_id IS NOT NULL AND q.available_at > :now THEN 1 END) AS leased, COUNT(CASE WHEN q.attempts > 0 AND ((q.available_at > :now AND q.claim_id IS NULL) OR (q.available_at <= :now AND q.parked_until > :now)) THEN 1 END) AS retrying, :now - MIN(CASE WHEN (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) THEN NULL WHEN q.parked_until IS NULL THEN q.available_at WHEN q.parked_until <= :now THEN MAX(q.available_at, q.parked_until) END) AS oldest, COUNT(CASE WHEN (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) THEN 1 END) AS unreadable FROM claimstream_queue q GROUP BY q.queue, q.shard;

-- observe/places
SELECT id, queue, shard AS shard, created_at AS since FROM claimstream_message WHERE id IN (:ids);

-- pauses/again
UPDATE claimstream_pause SET paused_at = :now, paused_by = :by, why = :why, resumed_at = NULL, resumed_by = NULL WHERE queue = :queue AND shard = 65535 AND resumed_at IS NOT NULL;

-- pauses/first
INSERT INTO claimstream_pause (queue, shard, paused_at, paused_by, why) VALUES (:queue, 65535, :now, :by, :why);

-- pauses/list
SELECT queue, :now - paused_at AS since, paused_by, why FROM claimstream_pause WHERE shard = 65535 AND resumed_at IS NULL ORDER BY claimstream_pause.queue;

-- pauses/resume
UPDATE claimstream_pause SET resumed_at = :now, resumed_by = :by WHERE queue = :queue AND shard = 65535 AND resumed_at IS NULL;

-- preferences/change
UPDATE claimstream_preference SET preferences = :preferences, changed_at = :now WHERE recipient_hash = :hash;

-- preferences/forget
DELETE FROM claimstream_preference WHERE recipient_hash = :hash;

-- preferences/forget_address
UPDATE claimstream_preference SET recipient = :erased WHERE recipient_hash IN (:recipients);

-- preferences/forget_owner
UPDATE claimstream_suppression SET address = :erased, note = NULL WHERE address_hash IN (:addresses);

-- preferences/keep
INSERT INTO claimstream_preference (recipient_hash, recipient, preferences, changed_at) VALUES (:hash, :recipient, :preferences, :now) ON CONFLICT DO NOTHING;

-- preferences/lift
DELETE FROM claimstream_suppression WHERE address_hash = :hash;

-- preferences/lock
SELECT preferences FROM claimstream_preference WHERE recipient_hash = :hash;

-- preferences/read
SELECT NULL AS now, recipient_hash AS recipient, preferences, NULL AS address, NULL AS reason FROM claimstream_preference WHERE recipient_hash IN (:recipients) UNION ALL SELECT NULL, NULL, NULL, address_hash, reason FROM claimstream_suppression WHERE address_hash IN (:addresses) UNION ALL SELECT :now, NULL, NULL, NULL, NULL;

-- preferences/suppress
INSERT INTO claimstream_suppression (address_hash, channel, address, reason, note, since) VALUES (:hash, :channel, :address, :reason, :note, :now) ON CONFLICT (address_hash) DO UPDATE SET address = COALESCE(:spelled, address), reason = CASE WHEN reason = 'unsubscribed' OR :reason = 'complained' THEN :reason ELSE reason END, note = COALESCE(:note, note);

-- preferences/suppressed
SELECT address_hash, channel, address, reason, note, :now - since AS age FROM claimstream_suppression WHERE address_hash > :after ORDER BY address_hash LIMIT :limit;

-- rates/make
INSERT INTO claimstream_provider_rate (provider, handed_out_until) VALUES (:provider, :now) ON CONFLICT DO NOTHING;

-- rates/read
SELECT handed_out_until AS handed_out_until, :now - handed_out_until AS behind FROM claimstream_provider_rate WHERE provider = :provider;

-- rates/take
UPDATE claimstream_provider_rate SET handed_out_until = :until WHERE provider = :provider AND handed_out_until = :seen;

-- receipts/end_wait
DELETE FROM claimstream_notification_receipt_waiting WHERE provider = :provider AND reference = :reference AND kind = :kind;

-- receipts/find
SELECT reference, message_id FROM claimstream_notification_attempt WHERE provider = :provider AND reference IN (:references) ORDER BY began_at, message_id;

-- receipts/forget_waiting
DELETE FROM claimstream_notification_receipt_waiting WHERE (provider, reference, kind) IN (SELECT provider, reference, kind FROM claimstream_notification_receipt_waiting WHERE seen_at < :now - :age ORDER BY seen_at LIMIT :limit);

-- receipts/keep
INSERT INTO claimstream_notification_receipt (message_id, kind, seen_at, said_at) VALUES (:message, :kind, :now - :ago, :said_at) ON CONFLICT DO NOTHING;

-- receipts/known
SELECT message_id, kind FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- receipts/lock
SELECT id, channel, recipient FROM claimstream_notification_message WHERE id IN (:ids) ORDER BY id;

-- receipts/page
SELECT message_id, kind, :now - seen_at AS ago, said_at FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- receipts/payload
SELECT payload FROM claimstream_message WHERE id = :id;

-- receipts/wait
INSERT INTO claimstream_notification_receipt_waiting (provider, reference, kind, address, said_at, note, seen_at) VALUES (:provider, :reference, :kind, :address, :said_at, :note, :now) ON CONFLICT DO NOTHING;

-- receipts/waiting
SELECT w.provider, w.reference, w.kind, w.address, w.said_at, w.note, :now - w.seen_at AS ago, a.message_id FROM claimstream_notification_receipt_waiting w CROSS JOIN claimstream_notification_attempt a ON a.provider = w.provider AND a.reference = w.reference WHERE w.seen_at >= :now - :within ORDER BY w.seen_at, w.provider, w.reference, w.kind, a.began_at LIMIT :limit;

-- remains/bodies
SELECT id FROM claimstream_message WHERE id IN (:ids) ORDER BY id;

-- remains/carriers
SELECT id FROM claimstream_queue WHERE queue = :queue UNION ALL SELECT id FROM claimstream_dead WHERE queue = :queue;

-- remains/delivered
SELECT message_id AS id FROM claimstream_notification_attempt WHERE message_id IN (:ids) AND acceptance = 'ACCEPTED' UNION SELECT message_id FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- remains/hold
UPDATE claimstream_notification_request SET changed_at = :now WHERE id IN (:ids);

-- remains/lost_items
SELECT i.id FROM claimstream_notification_message m CROSS JOIN claimstream_digest_item i  ON i.id = m.id LEFT JOIN claimstream_message b ON b.id = i.digest_id LEFT JOIN claimstream_dead d ON d.id = i.digest_id WHERE m.request_id IN (:ids) AND m.status = 'PENDING' AND b.id IS NULL AND d.id IS NULL;

-- remains/open_requests
SELECT id FROM claimstream_notification_request WHERE id > :after AND status IN ('PENDING', 'PROCESSING') AND changed_at < :now - :quiet ORDER BY id LIMIT :limit;

-- remains/pending
SELECT m.id, m.request_id, COALESCE(i.digest_id, m.id) AS carrier FROM claimstream_notification_message m LEFT JOIN claimstream_digest_item i ON i.id = m.id WHERE m.id > :after AND m.status = 'PENDING' AND m.changed_at < :now - :quiet ORDER BY m.id LIMIT :limit;

-- remains/requeue
INSERT INTO claimstream_queue (queue, shard, available_at, id) SELECT b.queue, b.shard, :now, b.id FROM claimstream_message b LEFT JOIN claimstream_queue q ON q.queue = b.queue AND q.shard = b.shard AND q.id = b.id LEFT JOIN claimstream_dead d ON d.id = b.id WHERE b.id IN (:ids) AND q.id IS NULL AND d.id IS NULL;

-- remains/standing
SELECT id, status FROM claimstream_notification_request WHERE id IN (:ids);

-- remains/steps
SELECT b.payload FROM claimstream_queue q CROSS JOIN claimstream_message b  ON b.id = q.id WHERE q.queue = :queue UNION ALL SELECT d.payload FROM claimstream_dead d WHERE d.queue = :queue;

-- request_sweep/dead
SELECT payload FROM claimstream_dead WHERE queue IN (:queues) UNION ALL SELECT m.payload FROM claimstream_queue q JOIN claimstream_message m ON m.id = q.id WHERE q.queue IN (:queues) AND m.first_at IS NOT NULL LIMIT :limit;

-- request_sweep/delete
DELETE FROM claimstream_notification_request WHERE id IN (:ids) AND changed_at < :bound;

-- request_sweep/erasures
DELETE FROM claimstream_notification_erasure WHERE request_id IN (:ids);

-- request_sweep/messages
SELECT id FROM claimstream_notification_message WHERE request_id IN (:ids) LIMIT :limit;

-- request_sweep/messages_delete
DELETE FROM claimstream_notification_message WHERE id IN (:ids);

-- request_sweep/page
SELECT r.id, r.status FROM claimstream_notification_request r WHERE r.id > :after AND r.id <= :last AND r.changed_at < :bound AND r.status NOT IN ('PENDING', 'PROCESSING') AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message m WHERE m.request_id = r.id AND (m.status = 'PENDING' OR m.changed_at >= :bound)) AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message f JOIN claimstream_dead d ON d.id = f.id WHERE f.request_id = r.id) AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message w JOIN claimstream_message b ON b.id = w.id WHERE w.request_id = r.id) ORDER BY r.id LIMIT :limit;

-- request_sweep/receipts
DELETE FROM claimstream_notification_receipt WHERE message_id IN (:ids);

-- resharding/begin
INSERT INTO claimstream_schema (capability, version, shards, from_shards) SELECT 'resharding', 1, :shards, :from_shards FROM (SELECT COUNT(*) AS there FROM claimstream_shard) counted WHERE counted.there = :from_shards ON CONFLICT DO NOTHING;

-- resharding/bodies
SELECT id, shard AS shard, ordering_key FROM claimstream_message WHERE id > :after ORDER BY claimstream_message.id LIMIT :limit;

-- resharding/close
INSERT INTO claimstream_pause (queue, shard, paused_at, paused_by, resumed_at) VALUES (:queue, :shard, :now, 'resharding', MIN(:now + :after, 253402300799999999)) ON CONFLICT (queue, shard) DO UPDATE SET resumed_at = MIN(:now + :after, 253402300799999999);

-- resharding/cut
UPDATE claimstream_schema SET applied_at = :now WHERE capability = 'resharding' AND version = 1 AND shards = :shards AND applied_at IS NULL;

-- resharding/encoding
SELECT encoding AS encoding FROM pragma_encoding;

-- resharding/end
DELETE FROM claimstream_schema WHERE capability = 'resharding' AND version = 1 AND shards = :shards;

-- resharding/lease
SELECT label, fence AS fence, (holder IS NOT NULL AND in_flight > 0 AND held_until <= :now) AS is_left FROM claimstream_lease WHERE queue = :queue AND shard = :shard;

-- resharding/let_go
DELETE FROM claimstream_pause WHERE queue = :queue AND shard = :shard;

-- resharding/letters
SELECT id, shard AS shard, ordering_key FROM claimstream_dead WHERE id > :after ORDER BY claimstream_dead.id LIMIT :limit;

-- resharding/mend_bodies
UPDATE claimstream_message SET shard = CASE id /*each*/ WHEN :id THEN :target /*end*/ ELSE shard END WHERE id IN (:ids);

-- resharding/mend_letters
UPDATE claimstream_dead SET shard = CASE id /*each*/ WHEN :id THEN :target /*end*/ ELSE shard END WHERE id IN (:ids);

-- resharding/move_bodies
UPDATE claimstream_message SET shard = :target WHERE id IN (:ids);

-- resharding/move_rows
UPDATE claimstream_queue SET shard = :target WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids) AND (claim_id IS NULL OR available_at <= :now);

-- resharding/next_queue
SELECT MIN(queue) AS queue FROM claimstream_queue WHERE queue > CAST(:after AS TEXT) AND queue < X'';

-- resharding/page
SELECT q.id, q.available_at AS due_at, m.ordering_key, (q.claim_id IS NOT NULL AND q.available_at > :now) AS is_claimed FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at <= :below AND (q.available_at < :below OR q.id < :id) AND NOT (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) ORDER BY q.available_at DESC, q.id DESC LIMIT :limit;

-- resharding/shards
SELECT s.shard AS shard, r.shards AS shards, r.from_shards AS from_shards, (r.applied_at IS NOT NULL) AS is_cut FROM claimstream_shard s LEFT JOIN claimstream_schema r ON r.capability = 'resharding' AND r.version = 1 ORDER BY s.shard;

-- resharding/take
UPDATE claimstream_lease SET holder = NULL, label = NULL, fence = fence + 1, held_until = :now, in_flight = 0, flights = NULL, token = :token WHERE queue = :queue AND shard = :shard AND fence = :fence AND (holder IS NULL OR (in_flight = 0 AND held_until <= :now));

-- resharding/undo
DELETE FROM claimstream_schema WHERE capability = 'resharding' AND version = 1 AND shards = :shards AND applied_at IS NULL;

-- sagas/next_scope
SELECT s.scope FROM claimstream_saga s WHERE s.scope > CAST(:scope AS TEXT) AND s.scope < X'' ORDER BY s.scope LIMIT 1;

-- sagas/note
INSERT INTO claimstream_saga (scope, run, owner, input, created_at) VALUES (:scope, :run, :owner, :input, :now);

-- sagas/old
SELECT s.owner, s.created_at AS created, s.run FROM claimstream_saga s WHERE s.scope = CAST(:scope AS TEXT) AND s.owner >= CAST(:owner AS TEXT) AND (s.owner > CAST(:owner AS TEXT) OR s.created_at > :from OR (s.created_at = :from AND s.run > CAST(:run AS TEXT))) AND s.created_at < :bound AND NOT EXISTS (SELECT 1 FROM claimstream_step t WHERE t.scope = s.scope AND t.run = s.run) ORDER BY s.owner, s.created_at, s.run LIMIT :limit;

-- sagas/page
SELECT s.run, s.owner, s.input, :now - s.created_at AS age, t.state AS state, t.version AS version, t.fingerprint, t.result, t.origin FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' WHERE s.scope = :scope AND s.owner = :owner ORDER BY s.created_at DESC, s.run DESC LIMIT :limit;

-- sagas/page_after
SELECT s.run, s.owner, s.input, :now - s.created_at AS age, t.state AS state, t.version AS version, t.fingerprint, t.result, t.origin FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' JOIN claimstream_saga a ON a.scope = :scope AND a.run = :after WHERE s.scope = :scope AND s.owner = :owner AND s.created_at <= a.created_at AND (s.created_at < a.created_at OR s.run < a.run) ORDER BY s.created_at DESC, s.run DESC LIMIT :limit;

-- sagas/read
SELECT s.run, s.owner, s.input, :now - s.created_at AS age, t.state AS state, t.version AS version, t.fingerprint, t.result, t.origin FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' WHERE s.scope = :scope AND s.run = :run;

-- sagas/shorten
UPDATE claimstream_saga SET owner = '', input = '' WHERE scope = :scope AND run IN (:runs) AND created_at < :bound;

-- savepoint/proof
BEGIN; ROLLBACK;

-- savepoint/release
RELEASE SAVEPOINT claimstream;

-- savepoint/set
SAVEPOINT claimstream;

-- savepoint/undo
ROLLBACK TO SAVEPOINT claimstream;

-- schema/applied
INSERT INTO claimstream_schema (capability, version, applied_at) VALUES (:capability, :version, :now) ON CONFLICT DO NOTHING;

-- schema/identity
SELECT applied_at AS made_at FROM claimstream_schema WHERE capability = 'outbox' AND version = 1;

-- schema/indexes
SELECT tbl_name AS on_table, name AS name FROM sqlite_master WHERE type = 'index' AND tbl_name LIKE 'claimstream\_%' ESCAPE '\';

-- schema/shard_insert
INSERT INTO claimstream_shard (shard) VALUES (:shard);

-- schema/shard_list
SELECT shard FROM claimstream_shard ORDER BY shard;

-- schema/tables
SELECT name AS name, NULL AS estimate FROM sqlite_master WHERE type IN ('table', 'view') AND name LIKE 'claimstream\_%' ESCAPE '\';

-- schema/there
SELECT 1 FROM claimstream_schema WHERE 1 = 0;

-- schema/versions
SELECT capability, MAX(version) AS version FROM claimstream_schema GROUP BY capability;

-- settle/dead
INSERT INTO claimstream_dead (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at) SELECT q.id, q.queue, q.shard, m.ordering_key, m.headers, COALESCE(m.content_type, 'application/octet-stream'), COALESCE(m.payload, ''), COALESCE(m.first_at, m.created_at, :now), q.attempts, :reason, :now FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at = :lease_end AND q.id IN (:ids) AND q.claim_id = :claim;

-- settle/done
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle/done_whole
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND claim_id = :claim;

-- settle/find
SELECT id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle/release
UPDATE claimstream_queue SET available_at = claimed_from, attempts     = attempts - 1, claim_id     = NULL, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle/renew
UPDATE claimstream_queue SET available_at = :new_end WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle/retry
UPDATE claimstream_queue SET available_at = MIN(:now + :after, 253402300799999999), attempts     = attempts - :uncounted, claim_id     = NULL, claimed_from = NULL, last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle/standing
SELECT id, (claim_id IS :claim) AS ours FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at >= :lease_end AND id IN (:ids);

-- settle/trace
SELECT id, available_at AS lease_end FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at > :lease_end AND claim_id = :claim;

-- settle/uncount
UPDATE claimstream_queue SET attempts     = attempts - 1, claimed_from = claimed_from - 1 WHERE queue = :queue AND shard = :shard AND available_at > :now AND available_at <= :now + 43200000000 AND id IN (:ids) AND NOT (claim_id = :claim) AND claimed_from = :lease_end AND attempts > 1;

-- shard_lease/charge
UPDATE claimstream_queue SET attempts     = attempts + 1, claim_id     = NULL, claimed_from = available_at WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids);

-- shard_lease/count
UPDATE claimstream_queue SET attempts     = attempts + 1, claim_id     = NULL, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids);

-- shard_lease/dead
INSERT INTO claimstream_dead (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at) SELECT q.id, q.queue, q.shard, m.ordering_key, m.headers, COALESCE(m.content_type, 'application/octet-stream'), COALESCE(m.payload, ''), COALESCE(m.first_at, m.created_at, :now), q.attempts + 1, :reason, :now FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at BETWEEN :first AND :last AND q.id IN (:ids);

-- shard_lease/done
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids);

-- shard_lease/end
UPDATE claimstream_lease SET holder = NULL, label = NULL, fence = fence + 1, held_until = :now, in_flight = 0, flights = NULL, token = :token WHERE queue = :queue AND shard = :shard AND fence = :fence;

-- shard_lease/held
SELECT queue, shard AS shard, in_flight AS in_flight, flights, label, held_until - :now AS ends_in FROM claimstream_lease WHERE in_flight > 0 AND held_until > :now;

-- shard_lease/insert
INSERT INTO claimstream_lease (queue, shard, fence, held_until, in_flight, token) VALUES (:queue, :shard, 0, :now, 0, 0);

-- shard_lease/oldest
SELECT id, :now - available_at AS age FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= :now AND COALESCE(parked_until <= :now, 1) ORDER BY available_at, id LIMIT :limit;

-- shard_lease/over
SELECT flights FROM claimstream_lease WHERE queue = :queue AND shard = :shard AND fence = :fence AND holder <> :holder AND held_until <= :now;

-- shard_lease/park
UPDATE claimstream_queue SET attempts     = attempts + :counted, claim_id     = NULL, claimed_from = NULL, parked_until = MIN(:now + :after, 253402300799999999), last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids) AND attempts <= :attempts;

-- shard_lease/peek
SELECT s.shard, l.fence AS fence, (l.holder IS NOT NULL AND l.holder <> :holder AND l.in_flight > 0) AS elsewhere FROM claimstream_shard s LEFT JOIN claimstream_lease l ON l.queue = :queue AND l.shard = s.shard WHERE (l.holder IS NULL OR l.holder = :holder OR l.held_until <= :now) AND (SELECT  q.available_at FROM claimstream_queue q WHERE q.queue = :queue AND q.shard = s.shard AND NOT (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT 1) <= :now AND NOT EXISTS (SELECT 1 FROM claimstream_pause p WHERE p.queue = :queue AND p.shard IN (s.shard, 65535) AND (p.resumed_at IS NULL OR (p.shard <> 65535 AND p.resumed_at > :now)));

-- shard_lease/prove
UPDATE claimstream_lease SET in_flight = :in_flight, token     = :token WHERE queue = :queue AND shard = :shard AND fence = :fence AND holder = :holder;

-- shard_lease/read
SELECT q.id, q.available_at AS due_at, q.attempts AS attempts, q.last_error, (q.claimed_from IS NOT NULL) AS suspect, q.parked_until AS parked_until, m.ordering_key, m.headers, m.content_type, CASE WHEN LENGTH(m.payload) <= :inline THEN m.payload END AS payload, l.fence AS fence, :now AS now, l.shard AS shard, LENGTH(m.payload) AS bytes, (l.in_flight = 0) AS is_free FROM claimstream_lease l JOIN claimstream_queue q ON q.queue = :queue AND q.shard = :shard LEFT JOIN claimstream_message m ON m.id = q.id WHERE l.queue = :queue AND l.shard = :shard AND (l.holder IS NULL OR l.holder = :holder OR (l.in_flight = 0 AND l.held_until <= :now)) AND q.available_at <= :now AND q.available_at >= :low AND TYPEOF(q.id) = 'blob' AND LENGTH(q.id) = 16 ORDER BY q.available_at, q.id LIMIT :limit;

-- shard_lease/read_on
SELECT q.id, q.available_at AS due_at, q.attempts AS attempts, q.last_error, (q.claimed_from IS NOT NULL) AS suspect, q.parked_until AS parked_until, m.ordering_key, NULL AS headers, m.content_type, NULL AS payload, NULL AS fence, NULL AS now, NULL AS bytes FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at <= :now AND q.available_at >= :low AND TYPEOF(q.id) = 'blob' AND LENGTH(q.id) = 16 AND (q.available_at > :low OR q.id > :last) AND (m.ordering_key IS NULL OR m.ordering_key NOT IN (:keys)) ORDER BY q.available_at, q.id LIMIT :limit;

-- shard_lease/release
SELECT flights FROM claimstream_lease WHERE queue = :queue AND shard = :shard AND fence = :fence AND holder IS NOT NULL;

-- shard_lease/retry
UPDATE claimstream_queue SET available_at = MIN(:now + :after, 253402300799999999), attempts     = attempts + :counted, claim_id     = NULL, claimed_from = NULL, parked_until = NULL, last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids);

-- shard_lease/token
SELECT fence AS fence, token FROM claimstream_lease WHERE queue = :queue AND shard = :shard;

-- shard_lease/uncount
UPDATE claimstream_queue SET attempts     = attempts - 1, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claimed_from IS NOT NULL AND attempts > 0;

-- shard_lease/write
UPDATE claimstream_lease SET holder     = :new_holder, label      = :label, fence      = :new_fence, held_until = :until, in_flight  = :in_flight, flights    = :flights, token      = :token WHERE queue = :queue AND shard = :shard AND fence = :fence AND (holder = :holder OR ((holder IS NULL OR (in_flight = 0 AND held_until <= :now)) AND :new_fence > fence));

-- steps/begin
INSERT INTO claimstream_step (scope, run, step, state, version, origin, fingerprint, result, created_at, changed_at) VALUES (:scope, :run, :step, :state, 1, :origin, :fingerprint, :result, :now, :now) ON CONFLICT (scope, run, step) DO UPDATE SET version = version;

-- steps/change
UPDATE claimstream_step SET state      = :state, version    = version + 1, origin     = :origin, result     = COALESCE(:result, result), changed_at = :now WHERE scope = :scope AND run = :run AND step = :step AND version = :version AND state = :from_state;

-- steps/find
SELECT state AS state, version AS version, fingerprint, result, origin FROM claimstream_step WHERE scope = :scope AND run = :run AND step = :step;

-- steps/forget
DELETE FROM claimstream_step WHERE scope = :scope AND run IN (:runs) AND changed_at < :bound;

-- steps/lock
UPDATE claimstream_step SET version = version WHERE scope = :scope AND run = :run AND step = :step RETURNING state, version, fingerprint, result, origin;

-- steps/of_run
SELECT step, state AS state, version AS version, :now - created_at AS age, :now - changed_at AS quiet FROM claimstream_step WHERE scope = :scope AND run = :run ORDER BY step LIMIT :limit;

-- steps/open_runs
SELECT o.scope, COUNT(DISTINCT o.run) AS runs, (:now - MIN(o.changed_at)) / 86400000000 AS days FROM claimstream_step o WHERE o.changed_at < :now - :kept AND (   o.state = 255 OR (o.scope = 'tcc' AND o.state = 0) OR (o.scope = 'tcc-global' AND o.state IN (0, 1, 3)) OR (o.scope LIKE 'timer:%' AND o.step = '' AND o.state = 0) OR (o.scope LIKE 'saga:%' AND o.step = '' AND o.state IN (1, 2, 3)) OR (o.scope LIKE 'saga:%' AND o.step <> '' AND o.state IN (1, 3) AND NOT EXISTS (SELECT 1 FROM claimstream_step e WHERE e.scope = o.scope AND e.run = o.run AND e.step = ''))) GROUP BY o.scope ORDER BY o.scope;

-- steps/page
SELECT s.scope, s.run, s.changed_at AS changed FROM claimstream_step s WHERE s.changed_at >= :from AND s.changed_at < :bound AND (s.scope LIKE 'timer:%') = :of_timers AND NOT EXISTS (SELECT 1 FROM claimstream_step y WHERE y.scope = s.scope AND y.run = s.run AND y.changed_at >= :bound) AND NOT EXISTS (SELECT 1 FROM claimstream_step o WHERE o.scope = s.scope AND o.run = s.run AND (   o.state = 255 OR (o.scope = 'tcc' AND o.state = 0) OR (o.scope = 'tcc-global' AND o.state IN (0, 1, 3)) OR (o.scope LIKE 'timer:%' AND o.step = '' AND o.state = 0) OR (o.scope LIKE 'saga:%' AND o.step = '' AND o.state IN (1, 2, 3)) OR (o.scope LIKE 'saga:%' AND o.step <> '' AND o.state IN (1, 3) AND NOT EXISTS (SELECT 1 FROM claimstream_step e WHERE e.scope = o.scope AND e.run = o.run AND e.step = ''))) ) ORDER BY s.changed_at LIMIT :limit;

-- steps/reach
SELECT s.changed_at AS changed, s.scope, s.run, s.step FROM claimstream_step s INDEXED BY claimstream_step_age WHERE s.changed_at >= :from AND s.changed_at <= :now - :quiet AND (s.changed_at > :from OR (s.scope, s.run, s.step) > (:after_scope, :after_run, :after_step)) ORDER BY s.changed_at, s.scope, s.run, s.step LIMIT 1 OFFSET :others;

-- steps/runs
SELECT s.scope, s.run, s.step, s.state AS state, s.version AS version, s.changed_at AS changed, :now - s.created_at AS age, :now - (SELECT MAX(y.changed_at) FROM claimstream_step y  WHERE y.scope = s.scope AND y.run = s.run) AS quiet FROM claimstream_step s INDEXED BY claimstream_step_age WHERE s.changed_at >= :from AND s.changed_at <= :to AND s.changed_at <= :now - :quiet AND (s.changed_at > :from OR (s.scope, s.run, s.step) > (:after_scope, :after_run, :after_step)) AND (s.changed_at < :to OR (s.scope, s.run, s.step) <= (:to_scope, :to_run, :to_step)) AND s.scope >= :first AND s.scope < :end AND s.step <= :last_step AND s.state NOT IN (:ended) AND (SELECT MAX(o.changed_at) FROM claimstream_step o  WHERE o.scope = s.scope AND o.run = s.run) <= :now - :quiet ORDER BY s.changed_at, s.scope, s.run, s.step LIMIT :limit;

-- sweep/dedup
DELETE FROM claimstream_dedup WHERE created_at >= :from AND created_at <= :upto AND NOT EXISTS (SELECT 1 FROM claimstream_message m WHERE m.id = claimstream_dedup.message_id) AND NOT EXISTS (SELECT 1 FROM claimstream_dead x WHERE x.id = claimstream_dedup.message_id);

-- sweep/delete
DELETE FROM claimstream_message WHERE id IN (:ids) AND created_at < :bound;

-- sweep/instances
DELETE FROM claimstream_instance WHERE seen_at < :bound;

-- sweep/keys
SELECT d.queue, d.dedup_key, d.created_at AS created_at FROM claimstream_dedup d LEFT JOIN claimstream_message m ON m.id = d.message_id WHERE d.created_at >= :from AND d.created_at < :bound AND m.id IS NULL AND NOT EXISTS (SELECT 1 FROM claimstream_dead x WHERE x.id = d.message_id) ORDER BY d.created_at LIMIT :limit;

-- sweep/left
SELECT id, created_at AS stored_at, :now - created_at AS age FROM claimstream_message WHERE id IN (:ids);

-- sweep/live
SELECT q.id, q.queue, q.shard, q.available_at AS due_at FROM claimstream_queue q WHERE (q.queue, q.shard, q.available_at, q.id) > (CAST(:queue AS TEXT), :shard, :due_at, :after) AND NOT (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT :limit;

-- sweep/page
SELECT m.id FROM claimstream_message m WHERE m.id > :after AND m.id <= :last AND m.created_at < :bound AND TYPEOF(m.id) = 'blob' AND LENGTH(m.id) = 16 ORDER BY m.id LIMIT :limit;

-- sweep/unreadable
SELECT q.id FROM claimstream_queue q WHERE (TYPEOF(q.queue) <> 'text' OR TYPEOF(q.shard) <> 'integer' OR TYPEOF(q.available_at) <> 'integer' OR q.available_at < 0 OR TYPEOF(q.id) <> 'blob' OR LENGTH(q.id) <> 16) AND TYPEOF(q.id) = 'blob' AND LENGTH(q.id) = 16 AND q.id > :after ORDER BY q.id LIMIT :limit;

-- templates/draft
SELECT draft, revision AS revision, :now - changed_at AS age FROM claimstream_template WHERE template_id = :template;

-- templates/page
SELECT t.template_id AS id, t.revision AS revision, :now - t.changed_at AS age, (SELECT MAX(v.number) FROM claimstream_template_version v WHERE v.template_id = t.template_id) AS published FROM claimstream_template t WHERE t.template_id > :after ORDER BY t.template_id LIMIT :limit;

-- templates/publication
SELECT publication FROM claimstream_template_version WHERE template_id = :template AND number = :number;

-- templates/publish
INSERT INTO claimstream_template_version (template_id, number, content, restores, publication, published_at) SELECT :template, :number, :content, :restores, :publication, :now FROM (SELECT COALESCE(MAX(number), 0) AS newest FROM claimstream_template_version WHERE template_id = :template) AS last WHERE last.newest = :number - 1;

-- templates/published
SELECT content FROM claimstream_template_version WHERE template_id = :template ORDER BY number DESC LIMIT 1;

-- templates/save
INSERT INTO claimstream_template (template_id, revision, draft, changed_at) VALUES (:template, 1, :draft, :now) ON CONFLICT (template_id) DO UPDATE SET revision = CASE WHEN draft = :draft THEN revision ELSE revision + 1 END, changed_at = CASE WHEN draft = :draft THEN changed_at ELSE :now END, draft = :draft;

-- templates/version
SELECT content FROM claimstream_template_version WHERE template_id = :template AND number = :number;

-- templates/versions
SELECT number AS version, restores AS restores, :now - published_at AS age FROM claimstream_template_version WHERE template_id = :template AND number < :below ORDER BY number DESC LIMIT :limit;

-- twins/end
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :due_at AND id = :id;

-- twins/find
SELECT id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= :now GROUP BY id HAVING COUNT(*) > 1 LIMIT :limit;

-- twins/lock
SELECT id, available_at AS due_at FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= :now AND id IN (:ids) ORDER BY available_at, id;
