-- Whether there is a transaction: inside one the first statement is refused, and the second is not sent.
BEGIN;
ROLLBACK
