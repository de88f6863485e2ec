-- Extends a lock, counted from now, if its holder still has it.
-- KEYS: the lock; its last fence. ARGV: the holder and its fence; the lease; how long the fence is kept; in milliseconds.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
