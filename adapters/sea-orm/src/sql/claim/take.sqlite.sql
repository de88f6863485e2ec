-- Claims due messages of one shard in one statement: the lease's end and the fence are its mark.
UPDATE claimstream_queue
   SET claimed_from = available_at,
       available_at = :lease_end,
       claim_id     = :claim,
       attempts     = attempts + 1
 WHERE (queue, shard, available_at, id) IN (
       SELECT queue, shard, available_at, id
         FROM claimstream_queue
        WHERE queue = :queue
          AND shard = :shard
          AND available_at <= :now
          AND available_at >= :low
          AND claim_id IS NOT :claim
          AND TYPEOF(id) = 'blob' AND LENGTH(id) = 16
        ORDER BY available_at, id
        LIMIT :limit)
