-- How the lease of a shard stands, after an answer was lost.
SELECT CAST(fence AS SIGNED) AS fence, token
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard
