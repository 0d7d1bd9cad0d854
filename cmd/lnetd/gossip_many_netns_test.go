//go:build linux

package main_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// TestManyServersKilled (goal G-GO-9): 30 of 64 daemons are killed, so that the others just have
// a quorum. The others detect the deaths, and for minutes none of them declares a live server
// dead.
func TestManyServersKilled(t *testing.T) {
	spec.Covers(t, "G-GO-9")
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("64 daemons for minutes: set ULNET_LONG=1")
	}
	const servers, killed, lasting = 64, 30, 150 * time.Second
	r := newCrowd(t, servers)
	r.await(r.all(), "all servers", func(_ int, v *view) bool { return v.Alive == servers && v.Quorum })
	gone := numbers(killed)
	began := time.Now()
	for _, i := range gone {
		r.servers[i].Kill()
	}
	left := r.all(gone...)
	r.await(left, "the death of almost half", func(_ int, v *view) bool { return v.Alive == servers-killed })
	r.calm(left, lasting, func(_ int, v *view) bool { return v.Alive == servers-killed && v.Quorum })
	for _, i := range left {
		told := make(map[string]int)
		var changes []change
		r.ask(i, &changes, "history")
		for _, c := range changes {
			if c.Event == "died" && c.Time.After(began) {
				told[c.NID]++
			}
		}
		for k := range servers {
			want := 0
			if k < killed {
				want = 1
			}
			if got := told[r.nid(k)]; got != want {
				t.Errorf("server %d was told %d times that server %d died, want %d", i+1, got, k+1, want)
			}
		}
	}
}

// newCrowd starts all servers in one network namespace. With a host for each of them, the kernel's table
// of neighbours would have no room for the addresses of all.
func newCrowd(t *testing.T, n int) *serverRoom {
	t.Helper()
	host, commands := netlab.New(t).Host("servers"), lnetdtest.Build(t)
	r := &serverRoom{t: t, on: network{kind: "tcp"}, n: n, prefix: "127.0.0."}
	settings := []string{"gossip:", "  interval: 200ms", fmt.Sprintf("  nids: ['127.0.0.[1-%d]@tcp']", n)}
	for i := range n {
		r.servers = append(r.servers, commands.Start(t, lnetdtest.Config{
			Networks: fmt.Sprintf("tcp(127.0.0.%d)", i+1), Port: kernelPort, Within: host.Do, Settings: settings,
		}))
	}
	return r
}

// calm asks the given servers one after the other for a while, and fails the test unless holds
// is true for each view.
func (r *serverRoom) calm(who []int, lasting time.Duration, holds func(i int, v *view) bool) {
	r.t.Helper()
	end := time.After(lasting)
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		i := who[turn%len(who)]
		var v view
		if r.ask(i, &v, "status"); !holds(i, &v) {
			r.t.Errorf("server %d sees %d alive, quorum %v", i+1, v.Alive, v.Quorum)
		}
	}
}
