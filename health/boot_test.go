package health

import (
	"testing"
	"time"
)

// TestBootRecords: CH-4, CH-50: clients that start all at once, while servers take
// longer to save connections than a client waits for a candidate, leave records at
// the servers that they want to be connected to and at their masters, and at no other:
// candidates that accepted late are left.
func TestBootRecords(t *testing.T) {
	const servers, clients = 9, 90
	for seed := range uint64(4) {
		w := newWorld(t, seed, servers)
		w.run(5 * time.Second)
		for _, s := range w.servers {
			s.fsync = 2500 * time.Millisecond // a client waits for a candidate for Try, 1 s
		}
		for i := range clients {
			w.add(i%servers, (i+1)%servers)
		}
		w.run(60 * time.Second)
		for _, s := range w.servers {
			s.fsync = 0
		}
		w.run(2 * time.Minute)
		records, attached := 0, 0
		for _, s := range w.servers {
			records += len(s.store)
		}
		for _, c := range w.clients {
			st := c.m.Status()
			if attached += len(st.Attached); st.State != "settled" || len(st.Attached) < 2 || c.count(Evicted) > 0 {
				t.Errorf("seed %d: client %x is %+v, evicted %d times", seed, c.name[:4], st, c.count(Evicted))
			}
		}
		if most := 3 * clients; records > most || attached > most {
			t.Errorf("seed %d: %d records and %d connections of %d clients that want two servers each and a master", seed, records, attached, clients)
		}
	}
}
