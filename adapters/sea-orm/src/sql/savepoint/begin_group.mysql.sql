-- The same for a member of a group, where another member's commit may undo what a transaction has written, and the next savepoint hides
-- that: what follows is committed without it. The first savepoint of all is gone then, and the commit releases it. A snapshot lets InnoDB
-- know of the transaction, and thereby of the savepoint; at READ COMMITTED it is ignored but for that.
START TRANSACTION WITH CONSISTENT SNAPSHOT;
SAVEPOINT claimstream_begun
