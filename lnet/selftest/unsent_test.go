package selftest_test

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// getHolder makes NIs that keep GETs until the test sends them, as if other messages left before them on a slow link.
type getHolder struct {
	lnd.Driver
	open bool     // GETs leave at once
	held []func() // send the GETs that were kept
}

type holdingNI struct {
	lnd.NI
	of *getHolder
}

func (d *getHolder) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni, err := d.Driver.Startup(cfg, up)
	return &holdingNI{ni, d}, err
}

func (ni *holdingNI) Send(m *lnd.Message) {
	if m.Header.Type.String() != "GET" || ni.of.open {
		ni.NI.Send(m)
		return
	}
	ni.of.held = append(ni.of.held, func() { ni.NI.Send(m) })
}

// TestUnsentGet: a client sends 17 writes, for which the server fetches the data with GETs. The GETs wait at the server for a slow
// link. The server gives up one GET. This GET had not left the server, and so does not prove that the client is silent. The server
// serves all other writes as soon as their GETs can leave.
func TestUnsentGet(t *testing.T) {
	spec.Covers(t, "ST-19")
	holder := &getHolder{}
	l := newLabOver(t, 1, selftest.Config{}, func(h lnd.Driver) lnd.Driver { holder.Driver = h; return holder })
	data := make([]byte, engine.MaxLength)
	const writes = 17 // one more than the client's share
	l.wait = 10 * time.Millisecond
	for i := range writes {
		l.hosts[0].Do(func() { l.expose(1, uint64(77+i), data, portals.OpGet, nil) })
		l.ask(1, wire.BRWService, &wire.BRW{BulkID: uint64(77 + i), Op: wire.Write, Length: engine.MaxLength, Check: wire.CheckNone})
		if i == writes-2 {
			l.run(time.Second)
		}
	}
	l.run(5 * time.Second)
	release := func(n int) {
		l.hosts[1].Do(func() {
			for _, send := range holder.held[:n] {
				send()
			}
			holder.held = holder.held[n:]
		})
	}
	release(1)
	l.run(2 * time.Second)
	holder.open = true
	release(len(holder.held))
	l.run(time.Second)
	if got := l.agents[1].Status(); got.BulkGet != (writes-1)*engine.MaxLength || got.Dropped != 1 || got.Moving != 0 {
		t.Errorf("%+v", got)
	}
}
