-- Notes a saga; a second one of its scope and id is a duplicate key.
INSERT INTO claimstream_saga (scope, run, owner, input, created_at)
VALUES (:scope, :run, :owner, :input, {now})
