//go:build linux

package main_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
)

const (
	// seenWithin bounds the time until all servers see a change. They see a death after about 17 cycles
	// of 500 ms, and a restart after about 30, because a newcomer is silent for up to 25 (stealth). The
	// rest of the minute is for slow machines.
	seenWithin = time.Minute
	// askInterval is the time between two requests for the status of a server. While a test waits,
	// the interval grows to longAskInterval.
	askInterval, longAskInterval = 100 * time.Millisecond, 400 * time.Millisecond
)

// view is what a server knows of all servers, decoded from what the method status returns.
type view struct {
	Clock        uint64        `json:"clock"`
	N            int           `json:"n"`
	Threshold    int           `json:"threshold"`
	Quorum       bool          `json:"quorum"`
	Alive        int           `json:"alive"`
	Participants []participant `json:"participants"`
}

type participant struct {
	NID       string `json:"nid"`
	Age       int    `json:"age"`
	Health    string `json:"health"`
	Aliveness uint64 `json:"aliveness"`
}

func (v *view) of(nid string) participant {
	i := slices.IndexFunc(v.Participants, func(p participant) bool { return p.NID == nid })
	if i < 0 {
		return participant{}
	}
	return v.Participants[i]
}

// change is a change in the output of 'gossipctl history --json'.
type change struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	NID   string    `json:"nid"`
}

// serverRoom has servers on two switches that one cable connects.
type serverRoom struct {
	t       *testing.T
	on      network
	n       int    // number of servers, half of them on each switch
	prefix  string // prefix of the servers' addresses
	start   func(i int) *lnetdtest.Daemon
	servers []*lnetdtest.Daemon
	trunk   *netlab.Cable
	left    *netlab.Host
}

func newServerRoom(t *testing.T, on network) *serverRoom {
	t.Helper()
	lab := netlab.New(t)
	r := &serverRoom{t: t, on: on, n: on.pick(effort.Of(8, 8, 20), 8), prefix: "10.1.0.", left: lab.Switch("left")}
	right := lab.Switch("right")
	r.trunk = lab.Cable(r.left, "", right, "")
	commands := lnetdtest.Build(t)
	var hosts []*netlab.Host
	for i := range r.n {
		h, at := lab.Host(fmt.Sprintf("server %d", i+1)), r.left
		if i >= r.n/2 {
			at = right
		}
		lab.Cable(h, fmt.Sprintf("10.1.0.%d/24", i+1), at, "")
		hosts = append(hosts, h)
	}
	r.start = func(i int) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{
			Crowd:    true,
			Networks: on.eth0(), Port: kernelPort, Within: hosts[i].Do,
			Settings: append(on.eager(2*time.Second, 200*time.Millisecond, time.Second),
				"gossip:", "  interval: 500ms", fmt.Sprintf("  nids: ['%s']", on.nid(fmt.Sprintf("10.1.0.[1-%d]", r.n)))),
		})
	}
	for i := range r.n {
		r.servers = append(r.servers, r.start(i))
	}
	return r
}

func (r *serverRoom) nid(i int) string { return r.on.nid(fmt.Sprintf("%s%d", r.prefix, i+1)) }

// ask asks a server's control socket what gossipctl prints as JSON, and decodes it.
func (r *serverRoom) ask(i int, v any, what string) {
	r.t.Helper()
	var doc any
	var err error
	if what == "history" {
		doc, err = gossip.OpHistory.Call(r.t.Context(), r.servers[i].Control(), control.None{})
	} else {
		doc, err = r.status(i)
	}
	if err == nil {
		err = recode(doc, v)
	}
	if err != nil {
		r.t.Fatalf("server %d: %s: %v\n%s", i+1, what, err, r.servers[i].Log())
	}
}

// status returns what a server knows, with the names that view has.
func (r *serverRoom) status(i int) (any, error) {
	s, err := gossip.OpStatus.Call(r.t.Context(), r.servers[i].Control(), control.None{})
	if err != nil || s.Snapshot == nil {
		return nil, cmp.Or(err, errors.New("gossip does not run"))
	}
	p := s.Snapshot
	return map[string]any{"clock": p.Clock, "n": p.N, "threshold": p.Threshold, "quorum": p.Quorum, "alive": p.Alive, "participants": p.Participants}, nil
}

// await waits until holds is true for the views of all given servers.
func (r *serverRoom) await(who []int, what string, holds func(i int, v *view) bool) {
	r.t.Helper()
	began := time.Now()
	deadline := time.After(seenWithin)
	interval := askInterval
	for _, i := range who {
		for {
			var v view
			r.ask(i, &v, "status")
			if holds(i, &v) {
				break
			}
			select {
			case <-time.After(interval):
				interval = min(interval*3/2, longAskInterval)
			case <-deadline:
				r.t.Fatalf("server %d does not see %s within %v, but %+v\n%s", i+1, what, seenWithin, v, r.servers[i].Log())
			}
		}
	}
	r.t.Logf("%s: seen by %d servers after %v", what, len(who), time.Since(began).Round(10*time.Millisecond))
}

// all returns the numbers of the servers except the given ones.
func (r *serverRoom) all(but ...int) []int { return numbers(r.n, but...) }

// history returns the changes of the server with the NID nid that server i has recorded since a time.
func (r *serverRoom) history(i int, nid string, since time.Time) (events []string) {
	r.t.Helper()
	var changes []change
	r.ask(i, &changes, "history")
	for _, c := range changes {
		if c.NID == nid && c.Time.After(since) {
			events = append(events, c.Event)
		}
	}
	return events
}

// TestGossipOfServers: eight daemons, twenty in a long run, detect a crash, a stopped process, a restart and a partition
// of the network, and report no other change.
func TestGossipOfServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute; skipped by -short")
	}
	t.Parallel()
	onFirst(t, func(t *testing.T, on network) {
		r := newServerRoom(t, on)
		whole := func(_ int, v *view) bool { return v.Alive == r.n && v.N == r.n && v.Quorum }
		r.await(r.all(), "all servers", whole)
		killed, frozen := on.pick(6, 2), on.pick(4, 1)
		r.crashAndPause(killed, frozen)
		r.rebirth(killed)
		if on.brief {
			return
		}
		r.trunk.Pull(r.left)
		r.await(r.all(), "the other half gone", func(i int, v *view) bool {
			far := r.nid((i + r.n/2) % r.n)
			return v.Alive == r.n/2 && !v.Quorum && v.of(far).Health == "dead"
		})
		r.trunk.Plug(r.left)
		r.await(r.all(), "all servers again", whole)
	})
}

// crashAndPause kills one server and stops another for 15 s: longer than the others need to
// detect that either is dead. When the stopped server continues, it declares no live server dead
// and no dead one alive (GO-A7, GO-A8).
func (r *serverRoom) crashAndPause(killed, frozen int) {
	r.t.Helper()
	woken := time.After(15 * time.Second)
	began := time.Now()
	r.servers[killed].Kill()
	r.servers[frozen].Freeze()
	r.await(r.all(killed, frozen), "a crash and a stopped process", func(_ int, v *view) bool {
		return v.of(r.nid(killed)).Health == "dead" && v.of(r.nid(frozen)).Health == "dead" && v.Alive == r.n-2 && v.Quorum
	})
	<-woken
	r.servers[frozen].Thaw()
	r.await(r.all(killed), "the process that goes on", func(i int, v *view) bool {
		return v.Alive == r.n-1 && v.Quorum && v.of(r.nid(killed)).Health == "dead" &&
			(i == frozen || v.of(r.nid(frozen)).Aliveness > 0)
	})
	for _, i := range r.all(killed) {
		if events := r.history(i, r.nid(killed), began); slices.Contains(events, "alive") {
			r.t.Errorf("server %d saw the dead one come back: %v", i+1, events)
		}
	}
	for _, healthy := range r.all(killed, frozen) {
		if events := r.history(frozen, r.nid(healthy), began); len(events) > 0 {
			r.t.Errorf("the process that was stopped saw of server %d, which was well: %v", healthy+1, events)
		}
	}
}

// rebirth starts a server again that was killed.
func (r *serverRoom) rebirth(killed int) {
	r.t.Helper()
	r.servers[killed] = r.start(killed)
	r.await(r.all(killed), "a server that is back", func(_ int, v *view) bool {
		p := v.of(r.nid(killed))
		return p.Health == "alive" && p.Aliveness > 0 && v.Alive == r.n
	})
	r.await([]int{killed}, "all from the server that is back", func(_ int, v *view) bool { return v.Alive == r.n && v.Quorum })
}
