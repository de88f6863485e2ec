// Writes messages into Claimstream's outbox, in the transaction of the business data: Go with go-sql-driver/mysql.
//
//	go run producer.go HOST PORT USER PASSWORD DATABASE insert|call
//
// enqueueByInsert writes the rows itself, enqueueByCall calls the routine of `claimstream schema routines --apply`.
package main

import (
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
)

const taken = 1062
const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// message has what is written; what is nil or empty is left out.
type message struct {
	queue       string
	payload     any
	orderingKey string
	dedupKey    string
	headers     map[string]string
	delay       time.Duration
}

// enqueueByInsert writes a message; false if its dedup key is taken.
func enqueueByInsert(tx *sql.Tx, m message) (bool, error) {
	id := uuid7()
	var shards uint64
	if err := tx.QueryRow("SELECT COUNT(*) FROM claimstream_shard").Scan(&shards); err != nil {
		return false, err
	}
	hashed := id
	if m.orderingKey != "" {
		hashed = []byte(m.orderingKey)
	}
	shard, hexID := shardOf(hashed, shards), hex.EncodeToString(id)
	if m.dedupKey != "" {
		_, err := tx.Exec(`INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)
			VALUES (?, ?, UNHEX(?), UTC_TIMESTAMP(6))`, m.queue, m.dedupKey, hexID)
		var refused *mysql.MySQLError
		if errors.As(err, &refused) && refused.Number == taken {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	payload, headers := m.json()
	_, err := tx.Exec(`INSERT INTO claimstream_message
			(id, queue, shard, ordering_key, headers, content_type, payload, created_at)
		VALUES (UNHEX(?), ?, ?, ?, ?, 'application/json', ?, UTC_TIMESTAMP(6))`,
		hexID, m.queue, shard, orNull(m.orderingKey), headers, payload)
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(`INSERT INTO claimstream_queue (queue, shard, available_at, id)
		VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, UNHEX(?))`,
		m.queue, shard, m.delay.Microseconds(), hexID)
	return err == nil, err
}

// enqueueByCall does the same by the routine.
func enqueueByCall(tx *sql.Tx, m message) (bool, error) {
	payload, headers := m.json()
	call := "CALL claimstream_enqueue(?, ?, 'application/json', ?, ?, ?, ?, NULL)"
	row := tx.QueryRow(call, m.queue, payload, orNull(m.orderingKey), orNull(m.dedupKey), headers, m.delay.Milliseconds())
	var id string
	var isNew bool
	err := row.Scan(&id, &isNew)
	return isNew, err
}

func (m message) json() (payload string, headers sql.NullString) {
	written, err := json.Marshal(m.payload)
	fatal(err)
	if len(m.headers) > 0 {
		named, err := json.Marshal(m.headers)
		fatal(err)
		headers = sql.NullString{String: string(named), Valid: true}
	}
	return string(written), headers
}

func orNull(text string) sql.NullString {
	return sql.NullString{String: text, Valid: text != ""}
}

// shardOf is FNV-1a with 64 bits, its halves folded, modulo the number of shards.
func shardOf(bytes []byte, shards uint64) uint64 {
	hash := fnv.New64a()
	hash.Write(bytes)
	sum := hash.Sum64()
	return (sum>>32 ^ sum&0xffffffff) % shards
}

// uuid7 makes a UUIDv7 as 16 bytes; any id that is never used twice would do.
func uuid7() []byte {
	id := make([]byte, 18)
	_, err := rand.Read(id)
	fatal(err)
	binary.BigEndian.PutUint64(id, uint64(time.Now().UnixMilli()))
	id = append(id[2:8:8], id[8:]...)
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

func main() {
	host, port, user, password, database, way := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]
	enqueue := enqueueByInsert
	if way == "call" {
		enqueue = enqueueByCall
	}
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?charset=utf8mb4", user, password, host, port, database))
	fatal(err)
	order := func(number int, m message) *sql.Tx {
		tx, err := db.Begin()
		fatal(err)
		_, err = tx.Exec("INSERT INTO orders (id) VALUES (?)", number)
		fatal(err)
		m.queue, m.payload = "orders", map[string]any{"order": number, "by": "Grün & Söhne"}
		isNew, err := enqueue(tx, m)
		fatal(err)
		fmt.Println(map[bool]string{true: "new", false: "taken"}[isNew], number)
		return tx
	}
	for number := 1; number <= 6; number++ {
		key := fmt.Sprintf("Kunde %d €", number%2)
		fatal(order(number, message{orderingKey: key, headers: map[string]string{"traceparent": trace, "X-Shop": "Köln"}}).Commit())
	}
	fatal(order(7, message{dedupKey: "order-7"}).Commit())
	fatal(order(8, message{dedupKey: "order-7"}).Commit())
	fatal(order(9, message{delay: 1500 * time.Millisecond}).Commit())
	fatal(order(10, message{}).Rollback())
	fatal(order(11, message{headers: map[string]string{}}).Commit())
}

func fatal(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
