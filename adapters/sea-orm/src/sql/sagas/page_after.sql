-- An owner's next sagas, older than one of them.
SELECT s.run, s.owner, s.input, {since s.created_at} AS age,
       {signed t.state} AS state, {signed t.version} AS version, t.fingerprint, t.result, t.origin
  FROM claimstream_saga s
  LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = ''
  JOIN claimstream_saga a ON a.scope = :scope AND a.run = :after
 WHERE s.scope = :scope
   AND s.owner = :owner
   AND s.created_at <= a.created_at
   AND (s.created_at < a.created_at OR s.run < a.run)
 ORDER BY s.created_at DESC, s.run DESC
 LIMIT :limit
