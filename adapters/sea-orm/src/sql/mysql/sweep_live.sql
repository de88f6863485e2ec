-- Live messages whose ids are older than the sweep's horizon: the bodies to keep.
SELECT id
  FROM claimstream_queue
 WHERE id < :horizon
