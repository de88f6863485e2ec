-- Gives a lock back, if its holder still has it. Its last fence stays until it expires.
-- KEYS: the lock. ARGV: the holder and its fence.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
