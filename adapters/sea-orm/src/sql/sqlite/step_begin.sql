-- Begins a step; one that is there stays as it is.
INSERT INTO claimstream_step (scope, run, step, state, version, origin, fingerprint, result, created_at, changed_at)
VALUES (:scope, :run, :step, :state, 1, :origin, :fingerprint, :result, :now, :now)
ON CONFLICT (scope, run, step) DO UPDATE SET version = version
