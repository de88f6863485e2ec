-- An owner's newest sagas.
SELECT s.run, s.owner, s.input, :now - s.created_at AS age,
       t.state AS state, t.version AS version, t.fingerprint, t.result
  FROM claimstream_saga s
  LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = ''
 WHERE s.scope = :scope
   AND s.owner = :owner
 ORDER BY s.created_at DESC, s.run DESC
 LIMIT :limit
