-- Keeps recipients that the transaction held and that were erased, as they were: their rows have changed, which an erasure on another node meets.
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at)
VALUES (:hash, {moment :erased_at})
