-- What is in flight under leases that hold.
SELECT queue, {signed shard} AS shard, {signed in_flight} AS in_flight, flights, label,
       {micros held_until} - {micros {now}} AS ends_in
  FROM claimstream_lease
 WHERE in_flight > 0
   AND held_until > {now}
