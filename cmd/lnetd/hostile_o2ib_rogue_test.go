//go:build linux

package main_test

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// rogue is a node with an address of its own and a correct device, which sends arbitrary messages to the
// besieged daemon.
type rogue struct {
	t    *testing.T
	b    *blockade
	addr string
	dev  verbs.Device
	pd   verbs.PD
	cq   verbs.CQ
	pool verbs.Pool
	done chan verbs.Completion // completions of work requests that have failed
}

const rogueStamp = 77

func (b *blockade) rogue(t *testing.T, addr string) *rogue {
	t.Helper()
	r := &rogue{t: t, b: b, addr: addr, done: make(chan verbs.Completion, 64)}
	err := b.host.Do(func() (err error) {
		r.dev, err = softroce.Open(verbs.OpenConfig{Addr: netip.MustParseAddr(addr), Clock: machine.RealClock()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.dev.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.pd, err = r.dev.NewPD(); err == nil {
		r.pool, err = r.pd.NewPool(verbs.PoolConfig{Buffers: 16, Size: kib.MaxMsgSize})
	}
	if err == nil {
		r.cq, err = r.dev.NewCQ(256, r.completed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// completed drops received messages.
func (r *rogue) completed(batch []verbs.Completion) {
	for i := range batch {
		if batch[i].Op == verbs.Receive {
			r.pool.Return(batch[i].Buffer)
		}
	}
}

// header returns the header of a message to the daemon, with the given stamp as the daemon's
// incarnation.
func (r *rogue) header(typ kib.MsgType, stamp uint64) kib.Header {
	return kib.Header{
		Version: kib.V2, Type: typ, SrcNID: nid.MustParse(r.addr + "@o2ib"), SrcStamp: rogueStamp,
		DstNID: nid.MustParse(besiegedAddr + "@o2ib"), DstStamp: stamp,
	}
}

// request returns a valid CONNREQ.
func (r *rogue) request() kib.Msg {
	return kib.Msg{Header: r.header(kib.ConnReq, 0), Params: kib.ConnParams{QueueDepth: 8, MaxFrags: 256, MaxMsgSize: kib.MaxMsgSize}}
}

// link is a connection that a rogue has requested, even if it was refused.
type link struct {
	verbs.Conn
	r      *rogue
	events chan verbs.Event
	stamp  uint64 // the incarnation stamp of the daemon
}

// ask requests a connection and returns the answer of the daemon.
func (r *rogue) ask(private []byte) (*link, verbs.Event) {
	r.t.Helper()
	l := &link{r: r, events: make(chan verbs.Event, 4)}
	var err error
	l.Conn, err = r.dev.Connect(netip.AddrPortFrom(besieged.Addr(), kib.Service), verbs.ConnConfig{
		QP:      verbs.QPConfig{PD: r.pd, Sends: r.cq, Recvs: r.cq, Pool: r.pool, MaxSends: 64},
		SrcPort: 1023, RetryCount: 5, RNRRetryCount: 6, Timeout: 20 * time.Second, Private: private,
	}, func(_ verbs.Conn, e verbs.Event) {
		e.Private = append([]byte(nil), e.Private...)
		l.events <- e
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return l, l.next()
}

// next returns the next event of a connection.
func (l *link) next() verbs.Event {
	l.r.t.Helper()
	select {
	case e := <-l.events:
		return e
	case <-time.After(reaction):
		l.r.t.Fatal("nothing happens to the connection")
		return verbs.Event{}
	}
}

// connect opens a connection like a good peer.
func (r *rogue) connect() *link {
	r.t.Helper()
	l, e := r.ask(encode(r.t, r.request()))
	m, err := kib.ParseMsg(e.Private)
	if e.Kind != verbs.Established || err != nil || m.Type != kib.ConnAck {
		r.t.Fatalf("%v with %v, %v", e.Kind, m.Type, err)
	}
	l.stamp = m.SrcStamp
	return l
}

func encode(t *testing.T, m kib.Msg) []byte {
	t.Helper()
	b, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
