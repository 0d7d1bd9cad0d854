//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/tree"
)

const (
	scollRTT, scollGuard = 20 * time.Millisecond, 100 * time.Millisecond
	// scollBulk is the time that each level of the tree may take for 1 MiB, at 100 MB/s, the
	// default rate.
	scollBulk   = scollRTT + 10_485_760*time.Nanosecond
	gossipCycle = 200 * time.Millisecond
	bulkSize    = 1 << 20
	// grace is how much later than the end of an action its answer may arrive.
	grace = time.Second
	// slack is by how much this machine may delay the end of a broadcast. It is shorter than the wait of
	// members that do not notice a death, so the test can tell the two apart.
	slack = 5 * time.Second
)

// broadcastDoc is the output of 'scollctl bcast --json'.
type broadcastDoc struct {
	Status    string   `json:"status"`
	ElapsedUS int64    `json:"elapsed_us"`
	Reached   []string `json:"reached"`
	Unreached []struct {
		NID   string `json:"nid"`
		Error string `json:"error"`
	} `json:"unreached"`
	Skipped []string `json:"skipped"`
	err     error    // error of the command
}

func (a *broadcastDoc) elapsed() time.Duration { return time.Duration(a.ElapsedUS) * time.Microsecond }

func (a *broadcastDoc) unreached() (list []string) {
	for _, u := range a.Unreached {
		list = append(list, u.NID)
	}
	slices.Sort(list)
	return list
}

// scollRoom has eight servers on a switch, sixteen in a long run. The first server may run an action on the others.
// The action reports that it has begun, and waits until a gate is opened.
type scollRoom struct {
	t       *testing.T
	on      network
	members int
	// victim is the rank of the inner node that is killed. Half of the nodes of the binomial tree
	// are below it, and depth is the number of their levels.
	victim, depth int

	dir     string
	start   func(i int) *lnetdtest.Daemon
	servers []*lnetdtest.Daemon
}

func (r *scollRoom) nid(i int) string { return r.on.nid(fmt.Sprintf("10.2.0.%d", i+1)) }

func newScollRoom(t *testing.T, on network) *scollRoom {
	t.Helper()
	lab := netlab.New(t)
	s := lab.Switch("switch")
	commands := lnetdtest.Build(t)
	r := &scollRoom{t: t, on: on, members: on.pick(effort.Of(8, 8, 16), 8), depth: on.pick(effort.Of(3, 3, 4), 3), dir: t.TempDir()}
	r.victim = r.members / 2
	var hosts []*netlab.Host
	for i := range r.members {
		h := lab.Host(fmt.Sprintf("member %d", i))
		lab.Cable(h, fmt.Sprintf("10.2.0.%d/24", i+1), s, "")
		hosts = append(hosts, h)
	}
	if err := syscall.Mkfifo(r.file("gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("nids: ['%s']", on.nid(fmt.Sprintf("10.2.0.[1-%d]", r.members)))
	r.start = func(i int) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{
			Crowd:    true,
			Networks: on.eth0(), Port: kernelPort, Within: hosts[i].Do,
			Settings: append(on.eager(5*time.Second, 100*time.Millisecond, 500*time.Millisecond),
				"gossip:", "  start: 0", "  cold_start: 1", fmt.Sprintf("  interval: %v", gossipCycle), "  "+all,
				"scoll:", "  enable: 1", fmt.Sprintf("  rtt: %v", scollRTT), fmt.Sprintf("  guard: %v", scollGuard),
				"  groups:", "    all:", "      "+all,
				"  admin:", "    allow_roots: ["+r.nid(0)+"]", on.identity(), "    actions:", "      wait:", "        timeout: 1m",
				fmt.Sprintf("        run: [/bin/sh, -c, '[ $(wc -c < $SCOLL_FILE) = %d ] && exec < %s && : > %s && exec cat']", bulkSize, r.file("gate"), r.file("begun", i))),
		})
	}
	for i := range r.members {
		r.servers = append(r.servers, r.start(i))
	}
	return r
}

func (r *scollRoom) file(name string, of ...int) string {
	return filepath.Join(r.dir, name+fmt.Sprint(of))
}

// bcast makes the first server broadcast.
func (r *scollRoom) bcast(args ...string) (a broadcastDoc) {
	out, err := r.servers[0].Scollctl(r.t.Context(), append([]string{"bcast", "--json"}, args...)...)
	if jerr := json.Unmarshal([]byte(out), &a); jerr != nil {
		r.t.Errorf("%v: %v\n%s", jerr, err, out)
	}
	a.err = err
	return a
}

// until waits until the function holds returns true.
func (r *scollRoom) until(what string, holds func() bool) {
	r.t.Helper()
	r.servers[0].Until(seenWithin, what, holds)
}

// subtree returns the member with a rank and the members below it, in a tree whose root is the
// first server.
func (r *scollRoom) subtree(rank int) (list []string) {
	for _, below := range (tree.Tree{Topology: tree.KNomial(2), N: r.members}).AppendSubtree(nil, rank) {
		list = append(list, r.nid(below))
	}
	slices.Sort(list)
	return list
}

// TestCollectives: eight daemons, sixteen in a long run, get a file. An inner node of the tree dies between the
// request and the answer, which the others notice by a timeout (goal G-SC-3, SC-139) or by
// gossip (goal G-SC-7, SC-137). A later broadcast reaches the live members without that node.
func TestCollectives(t *testing.T) {
	spec.Covers(t, "SC-137", "SC-139", "G-SC-3", "G-SC-7")
	if testing.Short() {
		t.Skip("takes half a minute; skipped by -short")
	}
	t.Parallel()
	onFirst(t, func(t *testing.T, on network) {
		r := newScollRoom(t, on)
		r.file1MiB()
		r.until("an answer of everybody", func() bool {
			_, err := r.servers[0].Scollctl(t.Context(), "ping", "--timeout", "1s")
			return err == nil
		})
		t.Run("bulk data reach all", func(t *testing.T) {
			if a := r.bcast("--bulk", r.file("data")); a.err != nil || a.Status != "ok" || len(a.Reached) != r.members || len(a.Unreached) > 0 {
				t.Errorf("%+v", a)
			}
		})
		if !on.brief {
			t.Run("an inner node dies, without gossip", r.diesUnnoticed)
		}
		r.startGossip()
		t.Run("an inner node dies, with gossip", r.diesNoticed)
		t.Run("the living", r.living)
	})
}

func (r *scollRoom) living(t *testing.T) {
	a := r.bcast("--live", "--bulk", r.file("data"))
	if a.err != nil || len(a.Reached) != r.members-1 || !slices.Equal(a.Skipped, []string{r.nid(r.victim)}) {
		t.Errorf("%+v", a)
	}
	if a := r.bcast("hello"); a.err == nil || a.Status != "unsent" || len(a.Unreached) != r.members {
		t.Errorf("with the dead: %+v", a)
	}
}

func (r *scollRoom) file1MiB() {
	r.t.Helper()
	data := make([]byte, bulkSize)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	if err := os.WriteFile(r.file("data"), data, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// killBetween sends an order with a file and kills the victim when all members run the order.
// Then it lets them end. The victim's answer is lost, and so are the answers of the members
// below the victim.
func (r *scollRoom) killBetween(timeout time.Duration) broadcastDoc {
	r.t.Helper()
	gate, err := os.OpenFile(r.file("gate"), os.O_RDWR, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range r.members {
		_ = os.Remove(r.file("begun", i)) // an error is ignored, since the file may be missing
	}
	done := make(chan broadcastDoc, 1)
	go func() { done <- r.bcast("--bulk", r.file("data"), "--action", "wait", "--timeout", timeout.String()) }()
	r.until("action at everybody", func() bool {
		for i := range r.members {
			if _, err := os.Stat(r.file("begun", i)); err != nil {
				return false
			}
		}
		return true
	})
	r.servers[r.victim].Kill()
	if err := gate.Close(); err != nil {
		r.t.Error(err)
	}
	return <-done
}

// wantSubtreeLost checks that exactly the victim and the members below it did not answer.
func (r *scollRoom) wantSubtreeLost(t *testing.T, a *broadcastDoc) {
	t.Helper()
	lost := r.subtree(r.victim)
	if !slices.Equal(a.unreached(), lost) || a.Status != "incomplete" || a.err == nil {
		t.Errorf("%s: not reached %v, want %v; %v", a.Status, a.unreached(), lost, a.err)
	}
	for i := range r.members {
		if id := r.nid(i); slices.Contains(a.Reached, id) == slices.Contains(lost, id) {
			t.Errorf("reached %v", a.Reached)
			break
		}
	}
}

func (r *scollRoom) diesUnnoticed(t *testing.T) {
	const timeout = 8 * time.Second
	a := r.killBetween(timeout)
	r.wantSubtreeLost(t, &a)
	least := time.Duration(r.depth)*(scollRTT+scollGuard+scollBulk) + time.Duration(r.depth-1)*(scollRTT+scollGuard) + timeout + grace
	most := least + scollGuard + slack
	t.Logf("noticed after %v, by time-out after %v", a.elapsed(), least)
	if a.elapsed() > most || a.elapsed() < least {
		t.Errorf("it took %v, want %v to %v", a.elapsed(), least, most)
	}
	r.servers[r.victim] = r.start(r.victim)
}

// startGossip starts gossip on all servers.
func (r *scollRoom) startGossip() {
	r.t.Helper()
	for _, d := range r.servers {
		if _, err := d.Gossipctl(r.t.Context(), "start"); err != nil {
			r.t.Fatal(err)
		}
	}
	for i, d := range r.servers {
		r.until(fmt.Sprintf("all of them at member %d", i), func() bool {
			s, err := gossip.OpStatus.Call(r.t.Context(), d.Control(), control.None{})
			return err == nil && s.Snapshot != nil && s.Snapshot.Alive == r.members
		})
	}
	r.until("an answer of everybody", func() bool {
		_, err := r.servers[0].Scollctl(r.t.Context(), "ping", "--timeout", "1s")
		return err == nil
	})
}

func (r *scollRoom) diesNoticed(t *testing.T) {
	a := r.killBetween(25 * time.Second)
	r.wantSubtreeLost(t, &a)
	died, ended := r.death(), r.end()
	t.Logf("ended %v after gossip had noticed, %v after the sending", ended.Sub(died), a.elapsed())
	if late := ended.Sub(died); late > gossipCycle+slack || late < -gossipCycle {
		t.Errorf("ended %v after gossip had noticed, want a cycle of %v at most", late, gossipCycle)
	}
}

// death returns the time at which the first server detected the victim's death.
func (r *scollRoom) death() (at time.Time) {
	r.t.Helper()
	var changes []change
	out, err := r.servers[0].Gossipctl(r.t.Context(), "history", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &changes)
	}
	for _, c := range changes {
		if c.NID == r.nid(r.victim) && c.Event == "died" {
			at = c.Time
		}
	}
	if err != nil || at.IsZero() {
		r.t.Fatalf("no death: %v\n%s", err, out)
	}
	return at
}

// end returns the time at which the first server's latest broadcast ended.
func (r *scollRoom) end() time.Time {
	r.t.Helper()
	s, err := scoll.OpStatus.Call(r.t.Context(), r.servers[0].Control(), control.None{})
	if err != nil || len(s.Broadcasts) == 0 {
		r.t.Fatal(err)
	}
	last := s.Broadcasts[len(s.Broadcasts)-1]
	return last.Began.Add(time.Duration(last.ElapsedUS) * time.Microsecond)
}
