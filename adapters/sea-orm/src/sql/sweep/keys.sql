-- Up to when the next dedup keys go that were made before the sweep's bound, the oldest first; no key is read, whatever it holds.
SELECT {micros MAX(k.created_at)} AS upto
  FROM (SELECT created_at
          FROM claimstream_dedup
         WHERE created_at >= {moment :from}
           AND created_at < {moment :bound}
         ORDER BY created_at
         LIMIT :limit) AS k
