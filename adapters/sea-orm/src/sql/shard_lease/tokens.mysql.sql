-- How the leases of several shards stand, after a write that found not all of them, or whose answer was lost.
SELECT {signed shard} AS shard, {signed fence} AS fence, token
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard IN (:shards)
