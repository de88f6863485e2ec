-- Takes a lock that is free.
-- KEYS: the lock; its last fence. ARGV: who asks; the lease; how long the fence is kept; both in milliseconds.
--
-- The fence goes on from the one before and from the server's time in microseconds, so that it grows even if the key has
-- expired or was flushed. Numbers here are doubles, exact up to 2^53, which such times reach in the year 2255.
local time = redis.call('TIME')
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local fence = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
if not redis.call('SET', KEYS[1], ARGV[1] .. ':' .. fence, 'NX', 'PX', ARGV[2]) then
  return false
end
redis.call('SET', KEYS[2], fence, 'PX', ARGV[3])
return fence
