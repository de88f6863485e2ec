-- How the lease of a shard stands, after an answer was lost.
SELECT {signed fence} AS fence, token
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard
