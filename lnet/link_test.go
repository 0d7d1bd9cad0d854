package lnet_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
)

var errUnplugged = errors.New("test: eth0 has no carrier")

// TestLinkDown: a request by an NI whose link is down fails at once, with the reason.
// Messages that the driver has are not touched, and answers are passed to it. When the link
// is up again, everything is as before.
func TestLinkDown(t *testing.T) {
	spec.Covers(t, "NS-4")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.send(peerA, 1)
	r.ni.SetLink(errUnplugged)
	if _, ended := r.up.result(1); ended {
		t.Error("what the driver has was ended by lnet")
	}
	r.send(peerA, 2)
	r.wantResult(2, syscall.ENETDOWN)
	r.wantResult(2, errUnplugged)
	r.node.Send(answer(r.ni, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, peerA))
	if n := len(r.sent); n != 2 {
		t.Errorf("%d messages at the driver, want the first one and an answer", n)
	}
	r.ni.SetLink(nil)
	r.send(peerA, 3)
	for r.finalize(nil) {
	}
	r.wantResult(1, nil)
	r.wantResult(3, nil)
}

// TestLinkFollower: the driver learns each time that the link is up, also if lnet knows that already: the interface may
// have been made again meanwhile.
func TestLinkFollower(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	for i, c := range []struct {
		set  error
		told int
	}{{nil, 1}, {errUnplugged, 1}, {nil, 2}, {nil, 3}} {
		if r.ni.SetLink(c.set); r.linkUps != c.told {
			t.Errorf("%d: the driver was told %d times, want %d", i, r.linkUps, c.told)
		}
	}
}

// TestLinkStatus: snapshots have the state of the link and its reason. Only changes between
// up and down are reported; a new reason replaces the old one.
func TestLinkStatus(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	told := 0
	r.node.OnNIChange(func() { told++ })
	gone := errors.New("test: eth0 is gone")
	for i, c := range []struct {
		set    error
		status string
		cause  string
		told   int
	}{
		{nil, "up", "", 0},
		{errUnplugged, "down", "no carrier", 1},
		{errUnplugged, "down", "no carrier", 1},
		{gone, "down", "gone", 1},
		{nil, "up", "", 2},
	} {
		r.ni.SetLink(c.set)
		s := r.node.Overview().NIs[0]
		if s.Status != c.status || (s.Cause == "") != (c.cause == "") || !strings.Contains(s.Cause, c.cause) || told != c.told {
			t.Errorf("step %d: %s for %q, told %d times, want %s for %q, %d times", i, s.Status, s.Cause, told, c.status, c.cause, c.told)
		}
	}
}

// TestLinkMoves: the link of an NI goes down. Messages that wait for credits of this NI, and messages that are sent
// after that, leave by another NI. If there is no other NI, they fail.
func TestLinkMoves(t *testing.T) {
	spec.Covers(t, "NS-4", "NS-7")
	r := newRig(t, lnd.Tunables{PeerCredits: 1}, lnet.Config{})
	other := &driver{id: second}
	ni, err := r.node.AddNI(other, lnd.Config{Net: tcp})
	if err != nil {
		t.Fatal(err)
	}
	ni.SetLink(errUnplugged)
	r.send(peerA, 1, 2, 3)
	wantBits(t, "in flight by the first NI", r.inFlight(), 1)
	pinned := put(peerA, 4)
	pinned.Source = self
	r.node.Send(pinned)
	ni.SetLink(nil)
	r.ni.SetLink(errUnplugged)
	r.wantResult(4, syscall.ENETDOWN)
	r.send(peerA, 5)
	for other.finalize(nil) {
	}
	for _, bits := range []uint64{2, 3, 5} {
		r.wantResult(bits, nil)
	}
	if got := r.node.Overview().NIs[0].Credits; got != 255 {
		t.Errorf("%d credits of the NI without a link, want 255: one message is the driver's", got)
	}
	ni.SetLink(errUnplugged)
	r.send(peerA, 6)
	r.wantResult(6, syscall.ENETDOWN)
	r.finalize(nil)
	r.wantResult(1, nil)
}

// TestLinkDownOtherNet: the link of one net is down, and the peer has said that its NI on the other net is down,
// too. That may be old news, so requests go there and do not fail at once.
func TestLinkDownOtherNet(t *testing.T) {
	spec.Covers(t, "NS-4")
	w := newRails(t)
	known := upToDate(peerA, peer1)
	known.NIs[0].Status = wire.StatusDown
	w.node.SetPeer(known)
	for _, ni := range w.node.NIs() {
		if ni.NID() == self1 {
			ni.SetLink(errUnplugged)
		}
	}
	w.send(peerA, 1)
	if by := w.by(1); by[0][1] != peerA {
		t.Errorf("the message left by %v, want to %v", by, peerA)
	}
	w.wantResult(1, nil)
}

// TestLinkDownMeanwhile: the link of an NI goes down between the choice of a message's path and the moment at which
// the message is handed to the driver or waits for a credit. The message takes another NI, and fails if there is none.
func TestLinkDownMeanwhile(t *testing.T) {
	spec.Covers(t, "NS-4", "NS-7")
	for lost, want := range map[int]error{1: nil, 2: syscall.ENETDOWN} {
		t.Run(fmt.Sprint(lost, " links"), func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			other := &driver{id: self1}
			ni1, err := r.node.AddNI(other, lnd.Config{Net: tcp1})
			if err != nil {
				t.Fatal(err)
			}
			for _, gateway := range []nid.NID{peerA, peer1} {
				if err := r.node.AddRoute(route.New(peer2.Net(), gateway)); err != nil {
					t.Fatal(err)
				}
			}
			r.node.SetPeer(upToDate(peer2))
			r.node.SetDiscoverer(func(gateway nid.NID) { // called when the path by a gateway that is not known has been chosen
				if lost--; lost >= 0 {
					map[nid.NID]*lnet.NI{peerA: r.ni, peer1: ni1}[gateway].SetLink(errUnplugged)
				}
			})
			r.send(peer2, 1)
			if lost > 0 || r.ni.Link().Down && len(r.sent) > 0 || ni1.Link().Down && len(other.sent) > 0 {
				t.Errorf("%d links are still to be lost; sent %v and %v", lost, r.sent, other.sent)
			}
			for r.finalize(nil) || other.finalize(nil) {
			}
			r.wantResult(1, want)
		})
	}
}

// TestLinkDownInDiscovery: messages wait for the discovery of their peer, for which they have chosen an NI, and the link
// of that NI goes down. After the discovery they leave by another NI.
func TestLinkDownInDiscovery(t *testing.T) {
	spec.Covers(t, "NS-4", "NS-7")
	for name, end := range map[string]func(*lnet.Node){
		"known":      func(n *lnet.Node) { n.SetPeer(upToDate(peerA)) },
		"discovered": func(n *lnet.Node) { n.Discovered(peerA, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{PeerCredits: 1}, lnet.Config{})
			other := &driver{id: second}
			if _, err := r.node.AddNI(other, lnd.Config{Net: tcp}); err != nil {
				t.Fatal(err)
			}
			r.node.SetDiscoverer(func(nid.NID) {})
			r.send(peerA, 1, 2)
			r.ni.SetLink(errUnplugged)
			end(r.node)
			for other.finalize(nil) {
			}
			if len(r.sent) > 0 {
				t.Errorf("%d messages at the driver of the NI without a link", len(r.sent))
			}
			r.wantResult(1, nil)
			r.wantResult(2, nil)
		})
	}
}

// TestLinkDownLastNI: a message waits for a credit of an NI that it chose among two. The other NI is removed, and then
// the link goes down: the message fails.
func TestLinkDownLastNI(t *testing.T) {
	spec.Covers(t, "NS-4", "NS-7")
	r := newRig(t, lnd.Tunables{PeerCredits: 1}, lnet.Config{})
	ni1, err := r.node.AddNI(&driver{id: self1}, lnd.Config{Net: tcp1})
	if err != nil {
		t.Fatal(err)
	}
	r.send(peerA, 1, 2)
	if err := r.node.RemoveNI(t.Context(), ni1); err != nil {
		t.Fatal(err)
	}
	r.ni.SetLink(errUnplugged)
	r.wantResult(2, syscall.ENETDOWN)
	r.finalize(nil)
	r.wantResult(1, nil)
}

// TestLinkWithdraws: the link of an NI goes down while its driver has requests in queues. They
// are sent by another NI, and no NI is blamed. Requests that must use this NI stay in its
// queues. All requests stay while no other NI leads to their destination.
func TestLinkWithdraws(t *testing.T) {
	spec.Covers(t, "NS-12")
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		r.queued = true
		r.send(peerA, 1, 2)
		r.ni.SetLink(errUnplugged)
		wantBits(t, "with one NI", r.inFlight(), 1, 2)
		r.ni.SetLink(nil)
		other := &driver{id: second}
		if _, err := r.node.AddNI(other, lnd.Config{Net: tcp}); err != nil {
			t.Fatal(err)
		}
		pinned := put(peerA, 3)
		pinned.Source = self
		r.node.Send(pinned)
		r.node.Send(answer(r.ni, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, peerA))
		r.ni.SetLink(errUnplugged)
		synctest.Wait()
		for other.finalize(nil) {
		}
		for _, bits := range []uint64{1, 2} {
			r.wantResult(bits, nil)
		}
		if n := len(r.sent); n != 2 {
			t.Errorf("%d messages at the driver, want the pinned one and the answer", n)
		}
		if s := r.node.Overview().NIs[0]; s.Health != 1000 || s.Credits != 254 {
			t.Errorf("health %d, %d credits; want 1000 and 254", s.Health, s.Credits)
		}
		r.queued = false
		for r.finalize(nil) {
		}
	})
}

// rails makes peerA and peerB NIDs of one node, with the statuses that the node reports.
func (r *rig) rails(a, b wire.Status) {
	r.node.SetPeer(lnet.Peer{
		Primary: peerA, NIs: []wire.NIStatus{{NID: peerA, Status: a}, {NID: peerB, Status: b}},
		Flags: lnet.PeerMultiRail | lnet.PeerDiscovered | lnet.PeerNIDsUpToDate,
	})
}

// took sends n messages to peerA and returns how many went to each of its NIDs.
func (r *rig) took(n int) (a, b int) {
	for range n {
		r.send(peerA, 1)
		r.mu.Lock()
		to := r.sent[len(r.sent)-1].Target.NID
		r.mu.Unlock()
		if to == peerA {
			a++
		} else {
			b++
		}
		r.finalize(nil)
	}
	return a, b
}

// TestPeerStatus: messages avoid a NID that its node reports as down. That ends when the node
// reports it as up, or when a message that was sent after the report comes from that NID. If
// all NIDs are down, messages are sent nevertheless.
func TestPeerStatus(t *testing.T) {
	spec.Covers(t, "NS-5")
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		want := func(what string, wantA, wantB bool) {
			t.Helper()
			a, b := r.took(8)
			if (a > 0) != wantA || (b > 0) != wantB {
				t.Errorf("%s: %d to the first NID, %d to the second", what, a, b)
			}
		}
		from := func(id nid.NID) {
			d := arriving(func(h *wire.Header) { h.SrcNID = id })
			d.From.NID, d.ReceivedAt = id, r.node.Clock().Now()
			if _, err := r.ni.Parse(d); err != nil {
				t.Fatal(err)
			}
			r.ni.Delivered(d, nil)
		}
		const up, down = wire.StatusUp, wire.StatusDown
		r.rails(up, up)
		want("both up", true, true)
		r.rails(up, down)
		want("the second down", true, false)
		r.rails(down, up)
		want("the first down", false, true)
		r.rails(down, down)
		want("both down", true, true)
		r.rails(up, up)
		r.rails(up, down)
		time.Sleep(500 * time.Millisecond)
		from(peerB)
		want("a message that was on its way", true, false)
		time.Sleep(time.Second)
		from(peerB)
		r.rails(up, down)
		want("a message that came later, and the same status again", true, true)
		r.rails(up, up)
		r.rails(up, down)
		want("down anew", true, false)
		r.node.ForgetPeerNID(peerB)
		r.rails(up, up)
		want("up", true, true)
	})
}

// TestLinkFlaps: while the link of one of two NIs goes up and down, no message fails. If
// there is only one NI, each message either leaves or fails with ENETDOWN.
func TestLinkFlaps(t *testing.T) {
	spec.Covers(t, "NS-4", "NS-7")
	for _, rails := range []int{3, 2, 1} {
		r := newRig(t, lnd.Tunables{Credits: 4, PeerCredits: 2}, lnet.Config{})
		leaves := func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
		r.onSend = leaves
		switch rails {
		case 2: // on the same net; the peer is not known to have several NIDs, so messages stay with the NI that they took last
			if _, err := r.node.AddNI(&driver{id: second, onSend: leaves}, lnd.Config{Net: tcp}); err != nil {
				t.Fatal(err)
			}
		case 3: // on the same net and on another one; each message chooses among all
			if _, err := r.node.AddNI(&driver{id: second, onSend: leaves}, lnd.Config{Net: tcp}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.node.AddNI(&driver{id: self1, onSend: leaves}, lnd.Config{Net: self1.Net()}); err != nil {
				t.Fatal(err)
			}
			r.node.SetPeer(upToDate(peerA, peer1))
		}
		const messages = 8000
		left, sent := 0, uint64(0)
		for ; left == 0 && sent < 50*messages; sent += messages { // on a busy machine, the link can be down for all of a round
			r.flapWhile(func() {
				for i := range uint64(messages) {
					r.node.Send(put(peerA, sent+i+1))
				}
			})
			for i := range uint64(messages) {
				switch err, ended := r.up.result(sent + i + 1); {
				case !ended, err != nil && !errors.Is(err, syscall.ENETDOWN), err != nil && rails > 1:
					t.Fatalf("%d rails: message %d: ended %v with %v", rails, sent+i+1, ended, err)
				case err == nil:
					left++
				}
			}
		}
		if left == 0 {
			t.Errorf("%d rails: none of %d messages has left", rails, sent)
		}
	}
}

// flapWhile lets the link of the first NI go up and down without a pause while f runs. In the end the link is up.
func (r *rig) flapWhile(f func()) {
	stop := make(chan struct{})
	var flapping sync.WaitGroup
	defer flapping.Wait()
	defer close(stop)
	flapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				r.ni.SetLink(errUnplugged)
				r.ni.SetLink(nil)
			}
		}
	})
	f()
}
