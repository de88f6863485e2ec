-- The queues that are paused, by name. There are no more rows than queues that were ever paused.
SELECT queue, {since paused_at} AS since, paused_by, why
  FROM claimstream_pause
 WHERE shard = 65535
   AND resumed_at IS NULL
 ORDER BY claimstream_pause.queue
