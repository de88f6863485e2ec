-- An owner's newest sagas.
SELECT s.run, s.owner, s.input, {since s.created_at} AS age,
       {signed t.state} AS state, {signed t.version} AS version, t.fingerprint, t.result, t.origin
  FROM claimstream_saga s
  LEFT JOIN claimstream_step t ON t.scope = s.scope AND t.run = s.run AND t.step = ''
 WHERE s.scope = :scope
   AND s.owner = :owner
 ORDER BY s.created_at DESC, s.run DESC
 LIMIT :limit
