-- How many messages of some queues are in flight under leases of their shards.
SELECT COALESCE({signed SUM(in_flight)}, 0) AS leased
  FROM claimstream_lease
 WHERE queue IN (:queues)
   AND held_until > {now}
