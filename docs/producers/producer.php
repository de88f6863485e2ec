<?php
// Writes messages into Claimstream's outbox, in the transaction of the business data: PHP with PDO.
//
//     php producer.php HOST PORT USER PASSWORD DATABASE insert|call
//
// enqueueByInsert writes the rows itself, enqueueByCall calls the routine of `claimstream schema routines --apply`.
declare(strict_types=1);

const TAKEN = 1062;
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Writes a message; false if its dedup key is taken. What is empty is left out. */
function enqueueByInsert(
    PDO $db,
    string $queue,
    array $payload,
    ?string $orderingKey = null,
    ?string $dedupKey = null,
    ?array $headers = null,
    int $delayMs = 0,
): bool {
    [$orderingKey, $dedupKey] = [orNull($orderingKey), orNull($dedupKey)];
    $id = uuid7();
    $shards = (int) $db->query('SELECT COUNT(*) FROM claimstream_shard')->fetchColumn();
    $shard = shardOf($orderingKey ?? $id, $shards);
    if ($dedupKey !== null) {
        try {
            $db->prepare(
                'INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)
                 VALUES (?, ?, UNHEX(?), UTC_TIMESTAMP(6))'
            )->execute([$queue, $dedupKey, bin2hex($id)]);
        } catch (PDOException $error) {
            if ($error->errorInfo[1] === TAKEN) {
                return false;
            }
            throw $error;
        }
    }
    $db->prepare(
        "INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)
         VALUES (UNHEX(?), ?, ?, ?, ?, 'application/json', ?, UTC_TIMESTAMP(6))"
    )->execute([bin2hex($id), $queue, $shard, $orderingKey, headersJson($headers), json($payload)]);
    $db->prepare(
        'INSERT INTO claimstream_queue (queue, shard, available_at, id)
         VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, UNHEX(?))'
    )->execute([$queue, $shard, $delayMs * 1000, bin2hex($id)]);
    return true;
}

/** The same by the routine. */
function enqueueByCall(
    PDO $db,
    string $queue,
    array $payload,
    ?string $orderingKey = null,
    ?string $dedupKey = null,
    ?array $headers = null,
    int $delayMs = 0,
): bool {
    $call = $db->prepare("CALL claimstream_enqueue(?, ?, 'application/json', ?, ?, ?, ?, NULL)");
    $call->execute([$queue, json($payload), orNull($orderingKey), orNull($dedupKey), headersJson($headers), $delayMs]);
    $isNew = (bool) $call->fetch(PDO::FETCH_ASSOC)['is_new'];
    $call->closeCursor();
    return $isNew;
}

function json(array $value): string
{
    return json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
}

/** An empty array would be a JSON array, which headers are not. */
function headersJson(?array $headers): ?string
{
    return $headers ? json($headers) : null;
}

function orNull(?string $text): ?string
{
    return $text === '' ? null : $text;
}

/** FNV-1a with 64 bits, its halves folded, modulo the number of shards. */
function shardOf(string $bytes, int $shards): int
{
    ['high' => $high, 'low' => $low] = unpack('Nhigh/Nlow', hash('fnv1a64', $bytes, true));
    return ($high ^ $low) % $shards;
}

/** A UUIDv7 as 16 bytes; any id that is never used twice would do. */
function uuid7(): string
{
    $id = substr(pack('J', (int) (microtime(true) * 1000)), 2) . random_bytes(10);
    $id[6] = chr(ord($id[6]) & 0x0F | 0x70);
    $id[8] = chr(ord($id[8]) & 0x3F | 0x80);
    return $id;
}

[, $host, $port, $user, $password, $database, $way] = $argv;
$enqueue = $way === 'call' ? enqueueByCall(...) : enqueueByInsert(...);
$db = new PDO("mysql:host=$host;port=$port;dbname=$database;charset=utf8mb4", $user, $password, [
    PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
    PDO::ATTR_EMULATE_PREPARES => false,
]);
$order = function (int $number, mixed ...$options) use ($db, $enqueue): void {
    $db->beginTransaction();
    $db->prepare('INSERT INTO orders (id) VALUES (?)')->execute([$number]);
    $isNew = $enqueue($db, 'orders', ['order' => $number, 'by' => 'Grün & Söhne'], ...$options);
    echo $isNew ? 'new' : 'taken', " $number\n";
};
for ($number = 1; $number <= 6; $number++) {
    $customer = $number % 2;
    $order($number, orderingKey: "Kunde $customer €", headers: ['traceparent' => TRACE, 'X-Shop' => 'Köln']);
    $db->commit();
}
$order(7, dedupKey: 'order-7');
$db->commit();
$order(8, dedupKey: 'order-7');
$db->commit();
$order(9, delayMs: 1500);
$db->commit();
$order(10);
$db->rollBack();
$order(11, orderingKey: '', dedupKey: '', headers: []);
$db->commit();
