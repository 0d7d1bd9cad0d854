//go:build linux

package main_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// rails is two hosts connected by two cables, each with an lnetd.
type rails struct {
	t            *testing.T
	a, b         *lnetdtest.Daemon
	hostA, hostB *netlab.Host
	cables       [2]*netlab.Cable
	aa, bb       [2]nid.NID
}

func newRails(t *testing.T, on network) *rails {
	t.Helper()
	lab := netlab.New(t)
	r := &rails{t: t, hostA: lab.Host("a"), hostB: lab.Host("b")}
	commands := lnetdtest.Build(t)
	r.cables[0] = lab.Cable(r.hostA, "10.1.0.1/24", r.hostB, "10.1.0.2/24")
	r.cables[1] = lab.Cable(r.hostA, "10.2.0.1/24", r.hostB, "10.2.0.2/24")
	r.aa = [2]nid.NID{nid.MustParse(on.nid("10.1.0.1")), nid.MustParse(on.nid("10.2.0.1") + "1")}
	r.bb = [2]nid.NID{nid.MustParse(on.nid("10.1.0.2")), nid.MustParse(on.nid("10.2.0.2") + "1")}
	start := func(host *netlab.Host) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{
			Networks: on.kind + "(eth0)," + on.kind + "1(eth1)", Port: kernelPort,
			Settings: on.eager(2*time.Second, time.Second, 2*time.Second), Within: host.Do,
		})
	}
	r.a, r.b = start(r.hostA), start(r.hostB)
	r.sink()
	return r
}

// sink makes B accept PUTs to portal 20.
func (r *rails) sink() {
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = node.OpSink.Call(ctx, r.b.Control(), node.SinkRequest{Portal: 20}, func(s node.Step) error {
			if s.Ready {
				close(ready)
			}
			return nil
		})
	})
	r.t.Cleanup(func() { cancel(); ended.Wait() })
	select {
	case <-ready:
	case <-time.After(60 * time.Second):
		r.t.Fatal("no sink at B")
	}
}

// put sends a message from A to B and waits for its ACK.
func (r *rails) put() error {
	return node.OpPut.CallWith(r.t.Context(), r.a.Control(), node.PutRequest{
		Target: nid.ProcessID{NID: r.bb[0], PID: nid.LustrePID}, Portal: 20, Ack: true, Timeout: 20 * time.Second,
	}, strings.NewReader("over either rail"), func(node.Step) error { return nil })
}

// sent returns how many messages each rail of A has sent.
func (r *rails) sent() (sent [2]uint64) {
	for _, ni := range r.a.Status().NIs {
		if i := slices.Index(r.aa[:], ni.NID); i >= 0 {
			sent[i] = ni.Traffic.Sent.Total()
		}
	}
	return sent
}

// known returns the status that the node by has recorded for a NID of the other node.
func (r *rails) known(by *lnetdtest.Daemon, id nid.NID) string {
	page, err := node.OpPeers.Call(r.t.Context(), by.Control(), node.PeersRequest{NID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range page.Known {
		for _, ni := range p.NIs {
			if ni.NID == id {
				return ni.Status
			}
		}
	}
	return ""
}

// own returns the status that A itself reports for one of its NIs, and the cause.
func (r *rails) own(id nid.NID) (status, cause string) {
	for _, ni := range r.a.Status().NIs {
		if ni.NID == id {
			return ni.Status, ni.Cause
		}
	}
	return "", ""
}

// TestRails: a node that loses a rail tells its peer, usually within 0.2 s. The bound is long enough for a
// busy machine. The node does the same when the rail is back. In between, no message fails, and net show lists which NI is
// down and why.
func TestRails(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "NS-1", "NS-2", "NS-5")
	onNetworks(t, testRails)
}

func testRails(t *testing.T, on network) {
	r := newRails(t, on)
	if err := r.put(); err != nil { // makes each of the two nodes discover the other
		t.Fatal(err)
	}
	r.b.Until(60*time.Second, "B knows both NIDs of A", func() bool { return r.known(r.b, r.aa[0]) == "up" && r.known(r.b, r.aa[1]) == "up" })
	for i, down := range r.aa {
		r.change(down, "down", func() { r.cables[i].Pull(r.hostB) })
		if status, cause := r.own(down); status != "down" || cause != fmt.Sprintf("interface eth%d has no carrier", i) {
			t.Errorf("net show: %v is %s: %q", down, status, cause)
		}
		before := r.sent()
		const puts = 20
		for range puts {
			if err := r.put(); err != nil {
				t.Fatalf("%v is down: %v", down, err)
			}
		}
		if now := r.sent(); now[i] != before[i] || now[1-i] < before[1-i]+puts {
			t.Errorf("%v is down: messages by rail %v, then %v", down, before, now)
		}
		if out, err := r.a.Lnetctl(t.Context(), "net", "show", "-v", "2"); err != nil || !strings.Contains(out, "fatal_error: 1") {
			t.Errorf("net show: %v\n%s", err, out)
		}
		r.change(down, "up", func() { r.cables[i].Plug(r.hostB) })
		if status, cause := r.own(down); status != "up" || cause != "" {
			t.Errorf("net show: %v is %s: %q", down, status, cause)
		}
	}
}

// change calls do, which changes a rail, and waits until B knows the new status.
func (r *rails) change(id nid.NID, want string, do func()) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	do()
	for ; r.known(r.b, id) != want; <-tick.C {
		if time.Since(began) > 60*time.Second {
			r.t.Fatalf("%v: B knows %q, want %q", id, r.known(r.b, id), want)
		}
	}
	took := time.Since(began)
	r.t.Logf("B knows that %v is %s after %v", id, want, took.Round(time.Millisecond))
	if took > 10*time.Second {
		r.t.Errorf("%v: B knows %q after %v, want 10 s at most", id, want, took)
	}
}

// outage is a time without a rail: from when the node knows of the loss until the cable is
// plugged in again.
type outage struct{ known, plugged time.Time }

// TestRailsUnderLoad: a rail is lost under load. No message fails that is sent after the node
// has noticed the loss, and every earlier message is completed.
func TestRailsUnderLoad(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "NS-4", "NS-7")
	onNetworks(t, testRailsUnderLoad)
}

func testRailsUnderLoad(t *testing.T, on network) {
	r := newRails(t, on)
	if err := r.put(); err != nil {
		t.Fatal(err)
	}
	r.b.Until(60*time.Second, "B knows both NIDs of A", func() bool { return r.known(r.b, r.aa[0]) == "up" && r.known(r.b, r.aa[1]) == "up" })
	type try struct {
		began time.Time
		err   error
	}
	var mu sync.Mutex
	var failed []try
	var sent atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				began := time.Now()
				if err := r.put(); err != nil {
					mu.Lock()
					failed = append(failed, try{began, err})
					mu.Unlock()
				}
				sent.Add(1)
			}
		})
	}
	var outages []outage
	for i, id := range r.aa {
		r.cables[i].Pull(r.hostB)
		r.a.Until(60*time.Second, "A knows that its link is down", func() bool { status, _ := r.own(id); return status == "down" })
		o := outage{known: time.Now()}
		until := sent.Load() + 40
		r.a.Until(60*time.Second, "messages by the other rail", func() bool { return sent.Load() >= until })
		o.plugged = time.Now()
		outages = append(outages, o)
		r.cables[i].Plug(r.hostB)
		r.b.Until(60*time.Second, "B knows that the rail is back", func() bool { return r.known(r.b, id) == "up" })
	}
	close(stop)
	load.Wait()
	for _, f := range failed {
		if strings.Contains(f.err.Error(), "has no carrier") { // at each moment one of A's links is up
			t.Errorf("a message was given to an NI without a link: %v", f.err)
		}
		for i, o := range outages {
			if f.began.After(o.known) && f.began.Before(o.plugged) {
				t.Errorf("a message failed that was sent %v after loss %d was known: %v", f.began.Sub(o.known), i, f.err)
			}
		}
	}
	t.Logf("%d messages, of which %d failed", sent.Load(), len(failed))
}
