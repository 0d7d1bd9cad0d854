package lnet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

var (
	lustreA = nid.ProcessID{NID: peerA, PID: nid.LustrePID}
	userA   = nid.ProcessID{NID: peerA, PID: nid.UserPID | 7}
	lustreB = nid.ProcessID{NID: peerB, PID: nid.LustrePID}
)

// story is the list of changes that a watcher was told.
type story struct {
	words []string
	then  func() // called once, from inside the next call of tell; nil: no call
}

func (s *story) tell(c lnet.PeerChange) {
	word, cause := "up", c.Cause
	if !c.Up {
		word = "down"
		if errno, ok := errors.AsType[syscall.Errno](cause); ok {
			word += fmt.Sprintf("(%d)", int(errno))
		} else if errors.Is(cause, lnet.ErrMoved) {
			word += "(moved)"
		}
	} else if cause != nil {
		word += "?" // a mark for a wrong change: only the state down has a cause
	}
	if c.Known {
		word = "is " + word
	}
	s.words = append(s.words, word)
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
}

func (s *story) want(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(s.words, " "); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	s.words = nil
}

func down(errno syscall.Errno) string { return fmt.Sprintf("down(%d)", int(errno)) }

// TestWatchPeer: the watcher is told of up and down in turn, also before the first
// connection.
func TestWatchPeer(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	var s, user story
	stop := r.node.WatchPeer(nid.ProcessID{NID: peerA}, s.tell)
	stopUser := r.node.WatchPeer(userA, user.tell)
	s.want(t, "")
	r.ni.PeerDown(lustreA, syscall.ECONNREFUSED)
	r.ni.PeerDown(lustreA, syscall.EHOSTUNREACH) // the state stays down
	s.want(t, down(syscall.ECONNREFUSED))
	r.ni.PeerUp(lustreA)
	r.ni.PeerUp(lustreB)
	s.want(t, "up")
	r.ni.PeerUp(userA)
	r.ni.PeerDown(lustreA, nil)
	s.want(t, down(syscall.ENOTCONN))
	user.want(t, "up")
	r.ni.PeerUp(lustreA)
	r.ni.PeerDown(userA, syscall.EPIPE)
	s.want(t, "up")
	user.want(t, down(syscall.EPIPE))
	stop()
	stop()
	stopUser()
	r.ni.PeerDown(lustreA, syscall.ECONNRESET)
	r.ni.PeerUp(userA)
	s.want(t, "")
	user.want(t, "")
}

// TestWatchPeerLate: if the state is known WatchPeer reports it before it returns, for the
// given process alone.
func TestWatchPeerLate(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.ni.PeerUp(lustreA)
	r.send(peerB, 1)
	r.ni.PeerDown(lustreB, syscall.ECONNREFUSED)
	r.finalize(syscall.ECONNREFUSED)
	for _, tt := range []struct {
		id   nid.ProcessID
		want string
	}{
		{lustreA, "is up"},
		{lustreB, "is " + down(syscall.ECONNREFUSED)},
		{userA, ""},
		{nid.ProcessID{NID: peerB, PID: userA.PID}, ""},
		{nid.ProcessID{NID: peerC}, ""},
	} {
		var s story
		r.node.WatchPeer(tt.id, s.tell)()
		s.want(t, tt.want)
	}
}

// TestWatchPeerMerges: the changes of a peer that happen while the function given to WatchPeer runs are merged into at
// most one down and one up.
func TestWatchPeerMerges(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(r *rig)
		want string
	}{
		{"down", func(r *rig) { r.ni.PeerDown(lustreA, syscall.EPIPE) }, "up " + down(syscall.EPIPE)},
		{"flap", func(r *rig) { r.ni.PeerDown(lustreA, syscall.EPIPE); r.ni.PeerUp(lustreA) }, "up " + down(syscall.EPIPE) + " up"},
		{"flaps", func(r *rig) {
			for range 3 {
				r.ni.PeerDown(lustreA, syscall.EPIPE)
				r.ni.PeerUp(lustreA)
			}
			r.ni.PeerDown(lustreA, syscall.ECONNRESET)
		}, "up " + down(syscall.ECONNRESET)},
		{"flaps, up again", func(r *rig) {
			for _, cause := range []error{syscall.EPIPE, syscall.ECONNRESET} {
				r.ni.PeerDown(lustreA, cause)
				r.ni.PeerUp(lustreA)
			}
		}, "up " + down(syscall.ECONNRESET) + " up"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			s := story{then: func() { tt.then(r) }}
			stop := r.node.WatchPeer(lustreA, s.tell)
			defer stop()
			r.ni.PeerUp(lustreA)
			s.want(t, tt.want)
		})
	}
	t.Run("stopped from f", func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		var s story
		stop := r.node.WatchPeer(lustreA, s.tell)
		s.then = func() { r.ni.PeerDown(lustreA, syscall.EPIPE); stop() }
		r.ni.PeerUp(lustreA)
		s.want(t, "up")
	})
}

// TestWatchPeerNIDs: any NID of a node stands for the node, also a NID that discovery finds
// later.
func TestWatchPeerNIDs(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	both := lnet.Peer{Primary: peer1, NIs: []wire.NIStatus{{NID: peer1}, {NID: peerA}, {NID: peerB}}}
	var s, byPrimary story
	defer r.node.WatchPeer(lustreA, s.tell)()
	defer r.node.WatchPeer(nid.ProcessID{NID: peer1}, byPrimary.tell)()
	r.ni.PeerUp(lustreB)
	s.want(t, "")
	r.node.SetPeer(both)
	s.want(t, "up")
	byPrimary.want(t, "up")
	r.ni.PeerUp(lustreA)
	r.ni.PeerDown(lustreB, syscall.EPIPE)
	s.want(t, "") // one process of the NID is still connected
	r.ni.PeerDown(lustreA, syscall.ECONNRESET)
	s.want(t, down(syscall.ECONNRESET))
	byPrimary.want(t, down(syscall.ECONNRESET))
	r.ni.PeerUp(lustreB)
	s.want(t, "up")
	r.node.ForgetPeerNID(peerA)
	s.want(t, "down(moved)")
}

// TestWatchPeerEvicted: a peer is removed from the table after it was reported as down.
// Watchers still learn of its later changes, and of failures of peers that were never
// connected.
func TestWatchPeerEvicted(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{MaxPeers: 1})
	var s, never story
	r.ni.PeerUp(lustreA)
	defer r.node.WatchPeer(lustreA, s.tell)()
	defer r.node.WatchPeer(nid.ProcessID{NID: peerC}, never.tell)()
	r.ni.PeerDown(lustreA, syscall.EPIPE)
	r.ni.PeerUp(lustreB)
	if r.peer(peerB).State != "up" || len(r.node.Snapshot().Peers) != 1 {
		t.Fatal("the table has not forgotten the peer")
	}
	s.want(t, "is up "+down(syscall.EPIPE))
	r.ni.PeerDown(nid.ProcessID{NID: peerC, PID: nid.LustrePID}, syscall.ECONNREFUSED)
	never.want(t, down(syscall.ECONNREFUSED))
	r.ni.PeerDown(lustreB, syscall.EPIPE)
	r.ni.PeerUp(lustreA)
	s.want(t, "up")
}

// TestWatchPeerNI: when an NI is removed, watchers are told that the peers beyond it are down. This node itself is up
// while it has lo, under the NIDs of its NIs.
func TestWatchPeerNI(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	var s, own story
	defer r.node.WatchPeer(lustreA, s.tell)()
	defer r.node.WatchPeer(nid.ProcessID{NID: self}, own.tell)()
	own.want(t, "")
	if _, err := r.node.AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	own.want(t, "up")
	r.ni.PeerUp(lustreA)
	if err := r.node.RemoveNI(context.Background(), r.ni); err != nil {
		t.Fatal(err)
	}
	s.want(t, "up "+down(syscall.ESHUTDOWN))
	own.want(t, down(syscall.ESHUTDOWN)) // the node is not up under the NID of the removed NI
	r.ni.PeerUp(lustreA)
	s.want(t, "")
}

// TestWatchPeerFlapping: whatever happens at once on two NIs, watchers are told up and down
// in turn, one call at a time, and the current state in the end.
func TestWatchPeerFlapping(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	other := &driver{id: second}
	ni2, err := r.node.AddNI(other, lnd.Config{Net: tcp})
	if err != nil {
		t.Fatal(err)
	}
	const flaps, watchers = 500, 4
	type watcher struct {
		busy  sync.Mutex
		state string
		calls int
	}
	var group sync.WaitGroup
	ws := make([]watcher, watchers)
	for i := range ws {
		w := &ws[i]
		stop := r.node.WatchPeer(lustreA, func(c lnet.PeerChange) {
			if !w.busy.TryLock() {
				t.Error("two calls at a time")
				return
			}
			defer w.busy.Unlock()
			state := "down"
			if c.Up {
				state = "up"
			}
			if state == w.state || c.Up != (c.Cause == nil) {
				t.Errorf("told %s after %s, cause %v", state, w.state, c.Cause)
			}
			w.state = state
			w.calls++
		})
		defer stop()
	}
	for _, ni := range []*lnet.NI{r.ni, ni2} {
		group.Go(func() {
			for range flaps {
				ni.PeerUp(lustreA)
				ni.PeerDown(lustreA, syscall.ECONNRESET)
			}
		})
	}
	group.Go(func() {
		for range flaps { // other watches begin and end meanwhile
			r.node.WatchPeer(lustreA, func(lnet.PeerChange) {})()
		}
	})
	group.Wait()
	for i := range ws {
		w := &ws[i]
		w.busy.Lock()
		if w.state != "down" || w.calls < 2 {
			t.Errorf("watcher %d: %s in the end, after %d calls", i, w.state, w.calls)
		}
		w.busy.Unlock()
	}
}
