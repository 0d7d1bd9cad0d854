package zone_test

import (
	"encoding/binary"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// spied is a driver that shows messages to a function before it sends them.
type spied struct {
	lnd.Driver
	spy  func(m *lnd.Message)
	keep func(m *lnd.Message, ni lnd.NI, up lnd.Upcalls) bool // keeps a message, as if it waited for a connection
}

type spiedNI struct {
	lnd.NI
	spied
	up lnd.Upcalls
}

func (d spied) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni, err := d.Driver.Startup(cfg, up)
	if d.spy == nil && d.keep == nil || err != nil {
		return ni, err
	}
	return spiedNI{ni, d, up}, nil
}

func (ni spiedNI) Send(m *lnd.Message) {
	if ni.spy != nil {
		ni.spy(m)
	}
	if ni.keep == nil || !ni.keep(m, ni.NI, ni.up) {
		ni.NI.Send(m)
	}
}

// TestLastPart: small messages have priority, so that they do not wait behind long lists. The last part of a
// list, which may be small too, does not overtake the parts before it (MS-97, MS-A32).
func TestLastPart(t *testing.T) {
	spec.Covers(t, "MS-97", "MS-A32")
	const small = 1 << 10
	var dispatches, rests, others int                      // small messages: to supervisors and within the zone that continue other ones, and that do not
	c := newCluster(t, 80, func(i int, cfg *zone.Config) { // node 0 supervises the others
		if cfg.MaxMessage = wire.MinMessage; i == 0 {
			cfg.Zone, cfg.Supervisor = "management", true
			return
		}
		cfg.Management, cfg.Bootstrap = []zone.ID{agentID(0)}, []zone.ID{agentID(1), agentID(2)}
	})
	c.spy = func(m *lnd.Message) {
		data := m.Payload.AppendTo(nil)
		if len(data) == 0 || len(data) > small {
			return
		}
		flags := binary.LittleEndian.Uint16(data[6:])
		rest := wire.Flags(flags)&wire.Later != 0
		if wire.IsDispatch(data) {
			rest = wire.DispatchFlags(flags)&wire.Continues != 0
		}
		switch {
		case !rest:
			others++
		case wire.IsDispatch(data):
			dispatches++
		default:
			rests++
		}
		if rest == m.Priority {
			t.Errorf("%d bytes, priority %v, the rest of another message: %v", len(data), m.Priority, rest)
		}
	}
	c.run(5 * time.Second)
	if dispatches == 0 || rests == 0 || others == 0 {
		t.Errorf("%d rests of dispatches, %d of other messages, and %d messages that are no rests", dispatches, rests, others)
	}
}
