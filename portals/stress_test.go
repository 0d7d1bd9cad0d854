package portals_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// deliverAll plays the network between this node and a peer that behaves in the same way. Every
// message that is sent arrives, in this goroutine, until stop is closed and no message is left.
func (n *network) deliverAll(stop <-chan struct{}) {
	for {
		m := n.next()
		if m == nil {
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
				continue
			}
		}
		d := &lnd.Delivery{Header: from(there, m.Header), From: there}
		d.Header.DestNID, d.Header.DestPID = here.NID, here.PID
		if _, err := n.up.Parse(d); err != nil {
			n.finalize(m, err)
			continue
		}
		n.memory.Lock()
		lnd.Copy(d.Sink, m.Payload)
		n.memory.Unlock()
		if m.Header.Type != wire.Get {
			n.up.Delivered(d, nil)
			n.finalize(m, nil)
		} else {
			n.finalize(m, nil)
			n.up.Delivered(d, nil)
		}
	}
}

// usage checks the order of the events of one MD.
type usage struct {
	t       *testing.T
	running atomic.Bool
	ended   atomic.Bool
	events  *atomic.Int64
	unlinks *atomic.Int64
}

func (l *usage) handle(e *portals.Event) {
	if !l.running.CompareAndSwap(false, true) {
		l.t.Error("a handler runs twice at once")
	}
	if l.ended.Load() {
		l.t.Errorf("%v after the last event", e)
	}
	if e.Unlinked {
		l.ended.Store(true)
		l.unlinks.Add(1)
	}
	l.events.Add(1)
	runtime.Gosched()
	l.running.Store(false)
}

// TestStress (PT-31): many goroutines call Put and Get while messages arrive in several
// others, and MDs unlink themselves or are unlinked at any moment. Every MD ends with exactly
// one last event, handlers of an MD never overlap, and nothing is left over.
func TestStress(t *testing.T) {
	spec.Covers(t, "PT-31")
	for name, timeout := range map[string]time.Duration{
		"patient":   0,                // the default: no operation is given up
		"impatient": time.Millisecond, // MDs are given up at any moment as well
	} {
		t.Run(name, func(t *testing.T) {
			node := lnet.New(lnet.Config{Incarnation: incarnation, Clock: machine.RealClock(), TransactionTimeout: timeout})
			table, net := newWireOn(t, node, lnd.Tunables{})
			stress(t, table, net)
		})
	}
}

func stress(t *testing.T, table *portals.Table, net *network) {
	stop := make(chan struct{})
	var network, users sync.WaitGroup
	for range 3 {
		network.Go(func() { net.deliverAll(stop) })
	}
	var events, unlinks, mds atomic.Int64
	newIncarnation := func() func(*portals.Event) {
		mds.Add(1)
		l := &usage{t: t, events: &events, unlinks: &unlinks}
		return l.handle
	}
	const rounds = 300
	for u := range 4 {
		users.Go(func() {
			for i := range rounds {
				stressRound(t, table, u, i, newIncarnation)
			}
		})
	}
	users.Wait()
	for table.Node().Stats().MsgsAlloc > 0 {
		runtime.Gosched()
	}
	close(stop)
	network.Wait()
	if unlinks.Load() != mds.Load() {
		t.Errorf("%d of %d MDs ended", unlinks.Load(), mds.Load())
	}
	s := table.Node().Stats()
	var drops uint64
	for why, n := range s.DropReasons {
		drops += n
		if why != lnet.NoMatch.String() && why != lnet.StaleHandle.String() {
			t.Errorf("%d dropped: %s", n, why)
		}
	}
	if s.RecvCount+drops != s.SendCount || s.RecvCount == 0 {
		t.Errorf("%d received and %d dropped of %d sent", s.RecvCount, drops, s.SendCount)
	}
}

// stressRound posts a target and sends to it, and ends all operations that do not end by
// themselves.
func stressRound(t *testing.T, table *portals.Table, user, i int, newIncarnation func() func(*portals.Event)) {
	me, err := table.MEAttach(1, portals.Match{Bits: uint64(i % 5)}, portals.Unlink, portals.InsertPosition(i%2))
	if err != nil {
		t.Error(err)
		return
	}
	target, err := table.MDAttach(me, portals.MD{
		Segments: []lnd.Segment{make([]byte, 64)}, Threshold: 1 + i%4,
		Options: portals.OpPut | portals.OpGet | portals.ManageRemote, Handler: newIncarnation(),
	}, portals.UnlinkOption(i%3&1))
	if err != nil {
		t.Error(err)
		return
	}
	source, err := table.MDBind(portals.MD{Segments: []lnd.Segment{make([]byte, 16)}, Threshold: inf, Handler: newIncarnation()}, portals.Unlink)
	if err != nil {
		t.Error(err)
		return
	}
	for n := range 3 {
		r := portals.PutRequest{MD: source, Ack: n == 1, Target: there, Portal: 1, MatchBits: uint64(i % 5), Offset: uint32(n)}
		if i%3 == 0 { // operations with a call, some of which time out at any moment
			r.OpPtr, r.LocalOffset = i, n
			if r.Ack = true; i%2 == 0 {
				r.Timeout = time.Duration(1+user) * 20 * time.Microsecond
			}
		}
		if (user+n)%2 == 0 {
			err = table.Put(r)
		} else {
			err = table.Get(portals.GetRequest{
				MD: r.MD, Target: r.Target, Portal: 1, MatchBits: r.MatchBits, LocalOffset: r.LocalOffset, OpPtr: r.OpPtr, Timeout: r.Timeout,
			})
		}
		if err != nil && !gone(table, err) {
			t.Error(err)
		}
	}
	if i%2 == 0 {
		runtime.Gosched()
	}
	if err := table.MDUnlink(source); err != nil && !gone(table, err) {
		t.Error(err)
	}
	unlink := func() error { return table.MDUnlink(target) }
	if i%4 == 0 {
		unlink = func() error { return table.MEUnlink(me) }
	}
	if err := unlink(); err != nil && !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
}

// gone reports whether err can mean that the table has given an MD up: err is ENOENT, and there were response
// timeouts.
func gone(table *portals.Table, err error) bool {
	return errors.Is(err, syscall.ENOENT) && lndtest.Poll(func() bool { return table.Node().Stats().ResponseTimeouts > 0 })
}
