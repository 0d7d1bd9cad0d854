package engine

import (
	"os"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestBootRecords: CH-4, CH-50: many clients start at the same time, and servers take longer to
// save a connection than a client waits for the answer of a server that it tries. In the end
// only the client's master, and the servers in its list Attach, have its record: the client
// disconnects from servers that accepted too late.
func TestBootRecords(t *testing.T) {
	spec.Covers(t, "CH-4", "CH-50")
	for seed := range uint64(4) {
		bootRecords(t, seed, 90)
	}
}

// TestBootRecordsOfMany does the same as the test above with ten thousand clients. It takes a minute or
// more.
func TestBootRecordsOfMany(t *testing.T) {
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("takes a minute or more; set ULNET_LONG=1")
	}
	bootRecords(t, 1, 10_000)
}

func bootRecords(t *testing.T, seed uint64, clients int) {
	t.Helper()
	const servers = 9
	w := newWorld(t, seed, servers)
	w.sparse = clients / 90 // check invariants rarely, as each check examines all clients
	w.run(5 * time.Second)
	for _, s := range w.servers {
		s.fsync = 2500 * time.Millisecond // a client waits Timing.Try, 1 s, for the answer of a server that it tries
	}
	for i := range clients {
		w.add(i%servers, (i+1)%servers)
	}
	w.run(60 * time.Second)
	for _, s := range w.servers {
		s.fsync = 0
	}
	w.run(2 * time.Minute)
	records, attached, odd := 0, 0, 0
	for _, s := range w.servers {
		records += len(s.store)
	}
	for _, c := range w.clients {
		st := c.m.Status()
		attached += len(st.Attached)
		if st.State == "settled" && len(st.Attached) >= 2 && c.count(Evicted) == 0 {
			continue
		}
		if odd++; odd < 10 {
			t.Errorf("seed %d: client %x is %+v, evicted %d times", seed, c.name[:4], st, c.count(Evicted))
		}
	}
	if most := 3 * clients; records > most || attached > most || odd > 0 {
		t.Errorf("seed %d: %d records and %d connections of %d clients that want two servers each and a master; %d are not as they should be",
			seed, records, attached, clients, odd)
	}
	t.Logf("%d records, %d connections of %d clients", records, attached, clients)
}
