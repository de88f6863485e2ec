-- Notes what an operator does.
INSERT INTO claimstream_audit (noted_at, actor, action, subject, affected)
VALUES ({now}, :actor, :action, :subject, :affected)
