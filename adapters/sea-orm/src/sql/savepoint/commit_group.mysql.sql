-- Commits a transaction on a member of a group if nothing of it was undone since it began. If anything was, its first savepoint is gone,
-- from the server (1305) or from InnoDB alone (1030), and what follows is not carried out.
RELEASE SAVEPOINT claimstream_begun;
COMMIT
