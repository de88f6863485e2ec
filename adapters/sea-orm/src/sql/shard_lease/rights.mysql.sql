-- Statements that change nothing, to learn whether the user may insert, update and delete leases of shards.
INSERT INTO claimstream_lease SELECT * FROM claimstream_lease WHERE 1 = 0;
UPDATE claimstream_lease SET queue = queue WHERE 1 = 0;
DELETE FROM claimstream_lease WHERE 1 = 0;
