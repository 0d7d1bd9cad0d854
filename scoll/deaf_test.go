package scoll_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
	"ulnet/scoll"
	scollwire "ulnet/scoll/wire"
)

// unread is a driver none of whose peers reads anything: a message stays in it until the end.
type unread struct {
	up     lnd.Upcalls
	mu     sync.Mutex
	closed bool // guarded by mu, like held
	held   []*lnd.Message
}

func (*unread) Type() nid.NetType { return nid.GNI }

func (u *unread) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) { u.up = up; return u, nil }

func (*unread) NID() nid.NID { return wireNID(0) }

func (u *unread) Send(m *lnd.Message) {
	u.mu.Lock()
	closed := u.closed
	if !closed {
		u.held = append(u.held, m)
	}
	u.mu.Unlock()
	if closed {
		u.up.Finalize(m, context.Canceled)
	}
}

func (*unread) Recv(*lnd.Delivery) {}

func (u *unread) Shutdown(context.Context) error {
	u.mu.Lock()
	u.closed = true
	held := u.held
	u.held = nil
	u.mu.Unlock()
	for _, m := range held {
		u.up.Finalize(m, context.Canceled)
	}
	return nil
}

// arrive lets a PUT of a peer arrive.
func (u *unread) arrive(t *testing.T, from nid.NID, put wire.PutCmd, payload []byte) {
	t.Helper()
	d := &lnd.Delivery{From: nid.ProcessID{NID: from, PID: nid.LustrePID}}
	d.Header = wire.Header{DestNID: u.NID(), DestPID: nid.LustrePID, SrcNID: from, SrcPID: nid.LustrePID}
	d.Header.SetPut(put)
	d.Header.PayloadLength = uint32(len(payload))
	answer, err := u.up.Parse(d)
	if err != nil || answer != lnd.Accept || d.Dropped {
		t.Fatalf("answer %v, %v, dropped %v", answer, err, d.Dropped)
	}
	for _, s := range d.Sink.Append(nil) {
		payload = payload[copy(s, payload):]
	}
	u.up.Delivered(d, nil)
}

// TestDeafRequester (SC-163): a node sends requests that are refused, and reads no refusal. No more than 1024
// refusals wait for it, and another node gets its refusal.
func TestDeafRequester(t *testing.T) {
	spec.Covers(t, "SC-163")
	node := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table, driver := portals.New(node), new(unread)
	addNIs(t, table, driver)
	agent, err := scoll.New(table, scoll.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		over, cancel := context.WithCancel(context.Background())
		cancel() // so that Shutdown does not wait for messages that no node reads
		_ = node.Shutdown(over)
	})
	h := scollwire.RequestHeader{
		ReplyBits: 5555, Sequence: 1, First: 1, RootIncarnation: 1, Service: 77, Nodes: 2,
		Tree: scoll.Tree{Type: scoll.KNomial, K: 2}, RTT: time.Millisecond, Guard: time.Millisecond,
	}
	put := wire.PutCmd{AckMD: wire.NoHandle(), Portal: scollwire.RequestPortal}
	for n := range uint64(5000) {
		h.Sequence = n + 1
		driver.arrive(t, wireNID(1), put, h.AppendTo(nil))
	}
	waiting := func(id nid.NID) (n int) {
		for _, p := range node.Snapshot().Peers {
			if p.NID == id {
				n = p.MaxCredits - p.Credits
			}
		}
		return n
	}
	if n := waiting(wireNID(1)); n != 1024 {
		t.Errorf("%d refusals wait, want 1024", n)
	}
	driver.arrive(t, wireNID(2), put, h.AppendTo(nil))
	if waiting(wireNID(2)) == 0 {
		t.Error("the request of another node is not refused")
	}
}
