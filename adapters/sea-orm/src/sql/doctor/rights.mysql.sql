-- Statements that change nothing, to learn whether the user may insert, update and delete wherever the outbox does.
UPDATE claimstream_shard SET shard = shard WHERE 1 = 0;
INSERT INTO claimstream_queue SELECT * FROM claimstream_queue WHERE 1 = 0;
UPDATE claimstream_queue SET attempts = attempts WHERE 1 = 0;
DELETE FROM claimstream_queue WHERE 1 = 0;
INSERT INTO claimstream_message SELECT * FROM claimstream_message WHERE 1 = 0;
UPDATE claimstream_message SET queue = queue WHERE 1 = 0;
DELETE FROM claimstream_message WHERE 1 = 0;
INSERT INTO claimstream_dedup SELECT * FROM claimstream_dedup WHERE 1 = 0;
UPDATE claimstream_dedup SET queue = queue WHERE 1 = 0;
DELETE FROM claimstream_dedup WHERE 1 = 0;
INSERT INTO claimstream_dead SELECT * FROM claimstream_dead WHERE 1 = 0;
UPDATE claimstream_dead SET queue = queue WHERE 1 = 0;
DELETE FROM claimstream_dead WHERE 1 = 0;
INSERT INTO claimstream_instance SELECT * FROM claimstream_instance WHERE 1 = 0;
UPDATE claimstream_instance SET label = label WHERE 1 = 0;
DELETE FROM claimstream_instance WHERE 1 = 0;
