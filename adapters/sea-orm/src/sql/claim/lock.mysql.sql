-- Locks due messages of one shard and steps over those that another claim is taking.
SELECT id,
       TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', available_at)     AS due_at,
       TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at <= UTC_TIMESTAMP(6)
   AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND
   AND NOT (claim_id <=> :claim)
 ORDER BY available_at, id
 LIMIT :limit
   FOR UPDATE SKIP LOCKED
