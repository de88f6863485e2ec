-- body_read
SELECT id, ordering_key, headers, content_type, CASE WHEN LENGTH(payload) <= :inline THEN payload END AS payload, LENGTH(payload) AS bytes FROM claimstream_message WHERE id IN (:ids);

-- claim_read
SELECT q.id, q.shard, q.attempts, q.claimed_from, q.last_error, m.ordering_key, m.headers, m.content_type, CASE WHEN LENGTH(m.payload) <= :inline THEN m.payload END AS payload, LENGTH(m.payload) AS bytes FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard IN (:shards) AND q.available_at = :lease_end AND q.claim_id = :claim;

-- claim_take
UPDATE claimstream_queue SET claimed_from = available_at, available_at = :lease_end, claim_id     = :claim, attempts     = attempts + 1 WHERE (queue, shard, available_at, id) IN ( SELECT queue, shard, available_at, id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= :now AND available_at >= :low AND claim_id IS NOT :claim ORDER BY available_at, id LIMIT :limit);

-- dead_bare
SELECT d.id FROM claimstream_dead d LEFT JOIN claimstream_message m ON m.id = d.id WHERE d.id > :after AND m.id IS NULL ORDER BY d.id LIMIT :limit;

-- dead_body
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at) SELECT id, queue, shard, ordering_key, headers, content_type, payload, created_at FROM claimstream_dead WHERE id IN (:ids) ON CONFLICT (id) DO NOTHING;

-- dead_delete
DELETE FROM claimstream_dead WHERE id IN (:ids);

-- dead_known
SELECT id FROM claimstream_dead WHERE id IN (:ids);

-- dead_list
SELECT id, queue, shard, ordering_key, headers, content_type, payload, attempts, reason, :now - died_at AS dead_for FROM claimstream_dead WHERE (:queue IS NULL OR queue = :queue) AND (:all_ids OR id IN (:ids)) AND died_at <= :now - :dead_for ORDER BY died_at DESC, id DESC LIMIT :limit;

-- dead_lock
SELECT id FROM claimstream_dead WHERE id IN (:ids) AND died_at <= :bound ORDER BY id;

-- dead_others
SELECT d.id FROM claimstream_dead d JOIN claimstream_message m ON m.id = d.id WHERE d.id IN (:ids) AND COALESCE(m.first_at, m.created_at) <> d.created_at;

-- dead_page
SELECT id FROM claimstream_dead WHERE id > :after AND (:queue IS NULL OR queue = :queue) AND (:all_ids OR id IN (:ids)) AND died_at <= :bound ORDER BY id LIMIT :limit;

-- dead_rename
UPDATE claimstream_dead SET id = :fresh WHERE id = :id;

-- doctor_ids
SELECT (SELECT COUNT(*) FROM claimstream_dead d LEFT JOIN claimstream_message m ON m.id = d.id WHERE m.id IS NULL)                                      AS bare, (SELECT COUNT(*) FROM claimstream_dead d JOIN claimstream_message m ON m.id = d.id WHERE COALESCE(m.first_at, m.created_at) <> d.created_at) AS beside, (SELECT COUNT(*) FROM (SELECT id FROM claimstream_queue GROUP BY queue, shard, id HAVING COUNT(*) > 1) t)                           AS twins;

-- doctor_steps
SELECT o.scope, COUNT(DISTINCT o.run) AS runs, (:now - MIN(o.changed_at)) / 86400000000 AS days FROM claimstream_step o WHERE o.changed_at < :now - :kept AND (   (o.scope = 'tcc' AND o.state = 0) OR (o.scope = 'tcc-global' AND o.state IN (0, 1, 3)) OR (o.scope LIKE 'timer:%' AND o.step = '' AND o.state = 0) OR (o.scope LIKE 'saga:%' AND o.step = '' AND o.state IN (1, 2, 3)) OR (o.scope LIKE 'saga:%' AND o.step <> '' AND o.state IN (1, 3) AND NOT EXISTS (SELECT 1 FROM claimstream_step e WHERE e.scope = o.scope AND e.run = o.run AND e.step = ''))) GROUP BY o.scope ORDER BY o.scope;

-- enqueue_dedup
INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at) VALUES (:queue, :dedup_key, :id, :now) ON CONFLICT DO NOTHING;

-- enqueue_dedup_read
SELECT message_id FROM claimstream_dedup WHERE queue = :queue AND dedup_key IN (:keys);

-- enqueue_discard
DELETE FROM claimstream_message WHERE id IN (:ids);

-- enqueue_known
SELECT id FROM claimstream_message WHERE id IN (:ids);

-- enqueue_message
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at) VALUES (:id, :queue, :shard, :ordering_key, :headers, :content_type, :payload, :now);

-- enqueue_queue
INSERT INTO claimstream_queue (queue, shard, available_at, id) VALUES (:queue, :shard, COALESCE(:at, MIN(:now + :after, 253402300799999999)), :id);

-- identity
SELECT applied_at FROM claimstream_schema WHERE version = 1;

-- instance
INSERT INTO claimstream_instance (instance, label, seen_at) VALUES (:instance, :label, :now) ON CONFLICT (instance) DO UPDATE SET label = :label, seen_at = :now;

-- lease_charge
UPDATE claimstream_queue SET attempts     = attempts + 1, claim_id     = NULL, claimed_from = available_at WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids);

-- lease_count
UPDATE claimstream_queue SET attempts     = attempts + 1, claim_id     = NULL, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids);

-- lease_dead
INSERT INTO claimstream_dead (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at) SELECT q.id, q.queue, q.shard, m.ordering_key, m.headers, COALESCE(m.content_type, 'application/octet-stream'), COALESCE(m.payload, ''), COALESCE(m.first_at, m.created_at, :now), q.attempts + 1, :reason, :now FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at BETWEEN :first AND :last AND q.id IN (:ids);

-- lease_done
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids);

-- lease_end
UPDATE claimstream_lease SET holder = NULL, fence = fence + 1, in_flight = 0, flights = NULL, token = :token WHERE queue = :queue AND shard = :shard AND fence = :fence;

-- lease_held
SELECT queue, shard AS shard, in_flight AS in_flight, flights FROM claimstream_lease WHERE in_flight > 0 AND held_until > :now;

-- lease_insert
INSERT INTO claimstream_lease (queue, shard, fence, held_until, in_flight, token) VALUES (:queue, :shard, 0, :now, 0, 0);

-- lease_oldest
SELECT id, :now - available_at AS age FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= :now AND COALESCE(parked_until <= :now, 1) ORDER BY available_at, id LIMIT :limit;

-- lease_over
SELECT flights FROM claimstream_lease WHERE queue = :queue AND shard = :shard AND fence = :fence AND holder <> :holder AND held_until <= :now;

-- lease_park
UPDATE claimstream_queue SET attempts     = attempts + 1, claim_id     = NULL, claimed_from = NULL, parked_until = MIN(:now + :after, 253402300799999999), last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids) AND attempts <= :attempts;

-- lease_peek
SELECT s.shard, l.fence, (l.holder IS NOT NULL AND l.holder <> :holder) AS elsewhere FROM claimstream_shard s LEFT JOIN claimstream_lease l ON l.queue = :queue AND l.shard = s.shard WHERE (l.holder IS NULL OR l.holder = :holder OR l.held_until <= :now) AND (SELECT q.available_at FROM claimstream_queue q WHERE q.queue = :queue AND q.shard = s.shard ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT 1) <= :now;

-- lease_prove
UPDATE claimstream_lease SET in_flight = :in_flight, token     = :token WHERE queue = :queue AND shard = :shard AND fence = :fence AND holder = :holder;

-- lease_read
SELECT q.id, q.available_at AS due_at, q.attempts AS attempts, q.last_error, (q.claimed_from IS NOT NULL) AS suspect, COALESCE(q.parked_until > :now, 0) AS parked, m.ordering_key, m.headers, m.content_type, CASE WHEN LENGTH(m.payload) <= :inline THEN m.payload END AS payload, l.fence AS fence, :now AS now, LENGTH(m.payload) AS bytes, (l.holder IS NULL) AS is_free FROM claimstream_lease l JOIN claimstream_queue q ON q.queue = :queue AND q.shard = :shard LEFT JOIN claimstream_message m ON m.id = q.id WHERE l.queue = :queue AND l.shard = :shard AND (l.holder IS NULL OR l.holder = :holder) AND q.available_at <= :now AND q.available_at >= :low ORDER BY q.available_at, q.id LIMIT :limit;

-- lease_read_on
SELECT q.id, q.available_at AS due_at, q.attempts AS attempts, q.last_error, (q.claimed_from IS NOT NULL) AS suspect, COALESCE(q.parked_until > :now, 0) AS parked, m.ordering_key, NULL AS headers, m.content_type, NULL AS payload, NULL AS fence, NULL AS now, NULL AS bytes FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at <= :now AND q.available_at >= :low AND (q.available_at > :low OR q.id > :last) AND (m.ordering_key IS NULL OR m.ordering_key NOT IN (:keys)) ORDER BY q.available_at, q.id LIMIT :limit;

-- lease_retry
UPDATE claimstream_queue SET available_at = MIN(:now + :after, 253402300799999999), attempts     = attempts + 1, claim_id     = NULL, claimed_from = NULL, parked_until = NULL, last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at BETWEEN :first AND :last AND id IN (:ids);

-- lease_token
SELECT fence, token FROM claimstream_lease WHERE queue = :queue AND shard = :shard;

-- lease_uncount
UPDATE claimstream_queue SET attempts     = attempts - 1, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claimed_from IS NOT NULL AND attempts > 0;

-- lease_write
UPDATE claimstream_lease SET holder     = :new_holder, label      = :label, fence      = :new_fence, held_until = :until, in_flight  = :in_flight, flights    = :flights, token      = :token WHERE queue = :queue AND shard = :shard AND fence = :fence AND (holder = :holder OR (holder IS NULL AND :new_fence > fence));

-- lock_make
INSERT INTO claimstream_lock (lock_key, fence, held_until, token) VALUES (:key, :now, :now + :lease, :token);

-- lock_read
SELECT fence, token = :token AS is_ours FROM claimstream_lock WHERE lock_key = :key;

-- lock_release
UPDATE claimstream_lock SET held_until = :now, token      = :token WHERE lock_key = :key AND fence = :fence AND held_until > :now;

-- lock_renew
UPDATE claimstream_lock SET held_until = :now + :lease, token      = :token WHERE lock_key = :key AND fence = :fence AND held_until > :now;

-- lock_take
UPDATE claimstream_lock SET fence      = MAX(fence + 1, :now), held_until = :now + :lease, token      = :token WHERE lock_key = :key AND held_until <= :now;

-- message_conclude
UPDATE claimstream_notification_message SET status = :status, reason = :reason, reference = :reference, changed_at = :now WHERE id IN (:ids) AND status = 'PENDING';

-- message_count
SELECT status, COUNT(*) AS messages FROM claimstream_notification_message WHERE request_id = :id GROUP BY status;

-- message_page
SELECT id, channel, recipient, status, reason FROM claimstream_notification_message WHERE request_id = :id AND id > :after ORDER BY id LIMIT :limit;

-- message_record
INSERT INTO claimstream_notification_message (id, request_id, channel, recipient, status, reason, created_at, changed_at) VALUES (:id, :request_id, :channel, :recipient, :status, :reason, :now, :now) ON CONFLICT DO NOTHING;

-- message_reopen
UPDATE claimstream_notification_message SET status = 'PENDING', reason = NULL, changed_at = :now WHERE id = :id AND status = 'FAILED';

-- message_status
SELECT id, status FROM claimstream_notification_message WHERE id IN (:ids);

-- observe_dead
SELECT queue, COUNT(*) AS dead FROM claimstream_dead GROUP BY queue;

-- observe_live
SELECT queue, shard, COUNT(*)                                                                    AS depth, SUM(available_at <= :now AND COALESCE(parked_until <= :now, 1))             AS due, SUM(claim_id IS NOT NULL AND available_at > :now)                           AS leased, :now - MIN(CASE WHEN COALESCE(parked_until <= :now, 1) THEN MAX(available_at, COALESCE(parked_until, available_at)) END) AS oldest FROM claimstream_queue GROUP BY queue, shard;

-- peek
SELECT s.shard FROM claimstream_shard s WHERE (SELECT q.available_at FROM claimstream_queue q WHERE q.queue = :queue AND q.shard = s.shard ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT 1) <= :now;

-- renew
UPDATE claimstream_queue SET available_at = :new_end WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- request_cancel
UPDATE claimstream_notification_request SET status = 'CANCELLED', changed_at = :now WHERE id = :id AND status = 'PENDING';

-- request_close
UPDATE claimstream_notification_request SET status = :status, reason = :reason, changed_at = :now WHERE id = :id AND status = 'PROCESSING';

-- request_insert
INSERT INTO claimstream_notification_request (id, status, request, created_at, changed_at) VALUES (:id, 'PENDING', :request, :now, :now);

-- request_known
SELECT id FROM claimstream_notification_request WHERE id IN (:ids);

-- request_open
UPDATE claimstream_notification_request SET status = 'PROCESSING', changed_at = :now WHERE id = :id AND status = 'PENDING';

-- request_read
SELECT request, status, reason FROM claimstream_notification_request WHERE id = :id;

-- request_reopen
UPDATE claimstream_notification_request SET status = 'PROCESSING', reason = NULL, changed_at = :now WHERE id = :id AND status = 'FAILED';

-- revive_message
UPDATE claimstream_message SET first_at   = COALESCE(first_at, created_at), created_at = :now WHERE id IN (:ids);

-- revive_queue
INSERT INTO claimstream_queue (queue, shard, available_at, id) SELECT queue, shard, :now, id FROM claimstream_dead WHERE id IN (:ids);

-- saga_note
INSERT INTO claimstream_saga (scope, run, owner, input, created_at) VALUES (:scope, :run, :owner, :input, :now);

-- saga_page
SELECT s.run, s.owner, s.input, :now - s.created_at AS age, t.state AS state, t.version AS version, t.fingerprint, t.result FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' WHERE s.scope = :scope AND s.owner = :owner ORDER BY s.created_at DESC, s.run DESC LIMIT :limit;

-- saga_page_after
SELECT s.run, s.owner, s.input, :now - s.created_at AS age, t.state AS state, t.version AS version, t.fingerprint, t.result FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' JOIN claimstream_saga a ON a.scope = :scope AND a.run = :after WHERE s.scope = :scope AND s.owner = :owner AND s.created_at <= a.created_at AND (s.created_at < a.created_at OR s.run < a.run) ORDER BY s.created_at DESC, s.run DESC LIMIT :limit;

-- saga_read
SELECT s.run, s.owner, s.input, :now - s.created_at AS age, t.state AS state, t.version AS version, t.fingerprint, t.result FROM claimstream_saga s LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = '' WHERE s.scope = :scope AND s.run = :run;

-- savepoint_proof
BEGIN; ROLLBACK;

-- savepoint_release
RELEASE SAVEPOINT claimstream;

-- savepoint_set
SAVEPOINT claimstream;

-- savepoint_undo
ROLLBACK TO SAVEPOINT claimstream;

-- schema_applied
INSERT INTO claimstream_schema (version, applied_at) VALUES (:version, :now) ON CONFLICT DO NOTHING;

-- schema_version
SELECT COALESCE(MAX(version), 0) AS version FROM claimstream_schema;

-- settle_dead
INSERT INTO claimstream_dead (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at) SELECT q.id, q.queue, q.shard, m.ordering_key, m.headers, COALESCE(m.content_type, 'application/octet-stream'), COALESCE(m.payload, ''), COALESCE(m.first_at, m.created_at, :now), q.attempts, :reason, :now FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE q.queue = :queue AND q.shard = :shard AND q.available_at = :lease_end AND q.id IN (:ids) AND q.claim_id = :claim;

-- settle_done
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle_done_whole
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND claim_id = :claim;

-- settle_find
SELECT id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle_retry
UPDATE claimstream_queue SET available_at = MIN(:now + :after, 253402300799999999), claim_id     = NULL, claimed_from = NULL, last_error   = :reason WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle_return
UPDATE claimstream_queue SET available_at = claimed_from, attempts     = attempts - 1, claim_id     = NULL, claimed_from = NULL WHERE queue = :queue AND shard = :shard AND available_at = :lease_end AND id IN (:ids) AND claim_id = :claim;

-- settle_standing
SELECT id, (claim_id IS :claim) AS ours FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at >= :lease_end AND id IN (:ids);

-- settle_trace
SELECT id, available_at AS lease_end FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at > :lease_end AND claim_id = :claim;

-- settle_uncount
UPDATE claimstream_queue SET attempts     = attempts - 1, claimed_from = claimed_from - 1 WHERE queue = :queue AND shard = :shard AND available_at > :now AND available_at <= :now + 43200000000 AND id IN (:ids) AND NOT (claim_id = :claim) AND claimed_from = :lease_end AND attempts > 1;

-- shard_insert
INSERT INTO claimstream_shard (shard) VALUES (:shard);

-- shard_list
SELECT shard FROM claimstream_shard ORDER BY shard;

-- step_begin
INSERT INTO claimstream_step (scope, run, step, state, version, origin, fingerprint, result, created_at, changed_at) VALUES (:scope, :run, :step, :state, 1, :origin, :fingerprint, :result, :now, :now) ON CONFLICT (scope, run, step) DO UPDATE SET version = version;

-- step_change
UPDATE claimstream_step SET state      = :state, version    = version + 1, result     = COALESCE(:result, result), changed_at = :now WHERE scope = :scope AND run = :run AND step = :step AND version = :version AND state = :from_state;

-- step_dead
SELECT MIN(created_at) AS created_at FROM claimstream_dead;

-- step_find
SELECT state, version, fingerprint, result FROM claimstream_step WHERE scope = :scope AND run = :run AND step = :step;

-- step_forget
DELETE FROM claimstream_step WHERE scope = :scope AND run IN (:runs) AND changed_at < :bound;

-- step_live
SELECT q.id, q.queue, q.shard, q.available_at AS due_at, COALESCE(m.first_at, m.created_at) AS first_at FROM claimstream_queue q LEFT JOIN claimstream_message m ON m.id = q.id WHERE (q.queue, q.shard, q.available_at, q.id) > (:queue, :shard, :due_at, :after) ORDER BY q.queue, q.shard, q.available_at, q.id LIMIT :limit;

-- step_lock
UPDATE claimstream_step SET version = version WHERE scope = :scope AND run = :run AND step = :step RETURNING state, version, fingerprint, result, origin;

-- step_page
SELECT s.scope, s.run, s.changed_at AS changed FROM claimstream_step s WHERE s.changed_at >= :from AND s.changed_at < :bound AND NOT EXISTS (SELECT 1 FROM claimstream_step y WHERE y.scope = s.scope AND y.run = s.run AND y.changed_at >= :bound) AND NOT EXISTS (SELECT 1 FROM claimstream_step o WHERE o.scope = s.scope AND o.run = s.run AND (   (o.scope = 'tcc' AND o.state = 0) OR (o.scope = 'tcc-global' AND o.state IN (0, 1, 3)) OR (o.scope LIKE 'timer:%' AND o.step = '' AND o.state = 0) OR (o.scope LIKE 'saga:%' AND o.step = '' AND o.state IN (1, 2, 3)) OR (o.scope LIKE 'saga:%' AND o.step <> '' AND o.state IN (1, 3) AND NOT EXISTS (SELECT 1 FROM claimstream_step e WHERE e.scope = o.scope AND e.run = o.run AND e.step = ''))) ) ORDER BY s.changed_at LIMIT :limit;

-- sweep_dedup
DELETE FROM claimstream_dedup WHERE queue = :queue AND dedup_key IN (:keys) AND created_at < :bound;

-- sweep_delete
DELETE FROM claimstream_message WHERE id IN (:ids) AND created_at < :bound;

-- sweep_instances
DELETE FROM claimstream_instance WHERE seen_at < :bound;

-- sweep_keys
SELECT d.queue, d.dedup_key, d.created_at FROM claimstream_dedup d LEFT JOIN claimstream_message m ON m.id = d.message_id WHERE d.created_at >= :from AND d.created_at < :bound AND m.id IS NULL ORDER BY d.created_at LIMIT :limit;

-- sweep_left
SELECT id, created_at AS stored_at, :now - created_at AS age FROM claimstream_message WHERE id IN (:ids);

-- sweep_live
SELECT id, queue, shard, available_at AS due_at FROM claimstream_queue WHERE (queue, shard, available_at, id) > (:queue, :shard, :due_at, :after) ORDER BY queue, shard, available_at, id LIMIT :limit;

-- sweep_locks
DELETE FROM claimstream_lock WHERE lock_key IN (SELECT lock_key FROM claimstream_lock WHERE held_until < :bound ORDER BY held_until LIMIT :limit) AND held_until < :bound;

-- sweep_page
SELECT id FROM claimstream_message WHERE id > :after AND id <= :last AND created_at < :bound ORDER BY id LIMIT :limit;

-- twins_end
DELETE FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at = :due_at AND id = :id;

-- twins_find
SELECT id FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= :now GROUP BY id HAVING COUNT(*) > 1 LIMIT :limit;

-- twins_lock
SELECT id, available_at AS due_at FROM claimstream_queue WHERE queue = :queue AND shard = :shard AND available_at <= :now AND id IN (:ids) ORDER BY available_at, id;
