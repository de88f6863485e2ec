-- Statements that change nothing, to learn whether the user may insert, update and delete wherever steps, sagas and locks do.
INSERT INTO claimstream_step SELECT * FROM claimstream_step WHERE 1 = 0;
UPDATE claimstream_step SET scope = scope WHERE 1 = 0;
DELETE FROM claimstream_step WHERE 1 = 0;
INSERT INTO claimstream_saga SELECT * FROM claimstream_saga WHERE 1 = 0;
UPDATE claimstream_saga SET scope = scope WHERE 1 = 0;
DELETE FROM claimstream_saga WHERE 1 = 0;
INSERT INTO claimstream_lock SELECT * FROM claimstream_lock WHERE 1 = 0;
UPDATE claimstream_lock SET fence = fence WHERE 1 = 0;
DELETE FROM claimstream_lock WHERE 1 = 0;
