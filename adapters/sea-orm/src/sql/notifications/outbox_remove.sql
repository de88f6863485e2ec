-- Takes the outbox message of a cancelled request away, unless it has come due or was claimed meanwhile: what is not due is in
-- nobody's hands under any strategy.
DELETE FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at = {moment :due_at}
   AND available_at > {now}
   AND id = :id
   AND claim_id IS NULL
