-- How many messages of a queue are claimed, under whatever strategy.
SELECT (SELECT COUNT(*) FROM claimstream_queue
         WHERE queue IN (:queues) AND claim_id IS NOT NULL AND available_at > {now})
     + (SELECT COALESCE({signed SUM(in_flight)}, 0) FROM claimstream_lease
         WHERE queue IN (:queues) AND held_until > {now}) AS in_flight
