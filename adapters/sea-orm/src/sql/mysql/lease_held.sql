-- What is in flight under leases that hold.
SELECT queue, CAST(shard AS SIGNED) AS shard, CAST(in_flight AS SIGNED) AS in_flight, flights
  FROM claimstream_lease
 WHERE in_flight > 0
   AND held_until > UTC_TIMESTAMP(6)
