package scoll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// start starts a node with gossip, collectives and multicast until the test ends.
func start(t *testing.T, cfg config.Config, log *slog.Logger) (m *Module) {
	t.Helper()
	n, err := node.New(node.Config{Config: cfg, Log: log, Modules: func(h node.Host) []node.Module {
		g := gossip.New(h)
		r := rmcast.New(h, g.SeenView())
		m = New(h, g, r)
		return []node.Module{g, r, m}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return m
}

// scollNodes starts nodes that take part in collectives, at 127.0.0.71 and the addresses after
// it.
func scollNodes(t *testing.T, n int, change func(*config.Config)) (nodes []*Module) {
	t.Helper()
	return scollNodesLogging(t, n, nil, change)
}

func scollNodesLogging(t *testing.T, n int, log *slog.Logger, change func(*config.Config)) (nodes []*Module) {
	t.Helper()
	var addrs []netip.Addr
	for i := range n + 1 { // one address more than nodes, where no node listens
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 0, byte(71 + i)}))
	}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs[:n] {
		cfg := config.Default()
		cfg.Networks, cfg.AcceptPort, cfg.RuntimeDir = "tcp("+addr.String()+")", int(port), t.TempDir()
		cfg.Scoll.Enable = true
		if change != nil {
			change(&cfg)
		}
		nodes = append(nodes, start(t, cfg, log))
	}
	return nodes
}

// await waits until the function holds returns true.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(60 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no %s", what)
		}
	}
}

func ping(group string) BroadcastRequest {
	return BroadcastRequest{Group: group, Verb: "ping", TimeoutMS: 30_000}
}

func unreachedOf(r BroadcastReply) (list []nid.NID) {
	for _, u := range r.Unreached {
		list = append(list, u.NID)
	}
	return list
}

// TestLongList: the list of members of a group is too long for the message of a broadcast, so
// the members get it before. Members that do not get it are reported as unreached. The others
// are asked nevertheless, even those below unreached ones in the tree.
func TestLongList(t *testing.T) {
	nodes := scollNodes(t, 3, nil)
	n := nodes[0]
	n.running.Load().groups.listSize = 0
	for _, test := range []struct {
		name, nids, lost string
		reached          int
	}{
		{"all are there", "127.0.0.[71-73]@tcp", "", 3},
		{"a leaf is not", "127.0.0.71@tcp 127.0.0.72@tcp 127.0.0.73@tcp 127.0.0.74@tcp", "127.0.0.74@tcp", 3},
		{"an inner node is not", "127.0.0.71@tcp 127.0.0.72@tcp 127.0.0.74@tcp 127.0.0.73@tcp", "127.0.0.74@tcp", 3},
		{"nobody is", "127.0.0.74@tcp", "127.0.0.74@tcp", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := n.CreateGroup(GroupCreate{Name: "g"}, strings.NewReader(strings.ReplaceAll(test.nids, " ", "\n"))); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a second attempt with the list gives the same result
				r, err := n.Broadcast(t.Context(), ping("g"), nil)
				if err != nil || len(r.Reached) != test.reached {
					t.Errorf("%+v, %v", r, err)
				}
				switch {
				case test.lost == "" && r.Status == BroadcastOK && len(r.Unreached) == 0:
				case len(r.Unreached) != 1 || r.Unreached[0] != (Unreached{nid.MustParse(test.lost), "cannot be sent to"}) || r.Status != BroadcastIncomplete:
					t.Errorf("%s: not reached %+v, want %s", r.Status, r.Unreached, test.lost)
				}
			}
			if err := n.DestroyGroup(t.Context(), GroupName{"g"}); err != nil {
				t.Error(err)
			}
			for i := range nodes[1:] {
				await(t, "end of all groups", func() bool { return len(nodes[1+i].running.Load().agent.Groups()) == 0 })
			}
		})
	}
}

// TestLiveWithoutGossip: without gossip no member is known to be dead, and all are asked at
// once: members need not agree on which of them are alive.
func TestLiveWithoutGossip(t *testing.T) {
	n := scollNodes(t, 3, nil)[0]
	if err := n.CreateGroup(GroupCreate{Name: "g"}, strings.NewReader("127.0.0.[71-73]@tcp")); err != nil {
		t.Fatal(err)
	}
	request := ping("g")
	request.Live = true
	r, err := n.Broadcast(t.Context(), request, nil)
	if err != nil || r.Status != BroadcastOK || len(r.Reached) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRetired: a group whose members have changed while a broadcast over it was under way is
// destroyed later, also if package scoll refused that once.
func TestRetired(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	gate, err := os.OpenFile(filepath.Join(dir, "gate"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gate.Close() }) // ends the actions if the test fails before it closes the gate
	// Each action opens the gate for reading before it reports that it has begun. If it started
	// to read after the gate was closed, it would wait for ever.
	script := fmt.Sprintf("cd %s; exec < gate; : > begun.$$; exec cat", dir)
	nodes := scollNodes(t, 2, func(c *config.Config) {
		c.Scoll.Admin.AllowRoots, c.Scoll.Admin.Unidentified = setsOf(t, "127.0.0.71@tcp"), true
		c.Scoll.Admin.Actions = []config.Action{{Name: "wait", Run: []string{"/bin/sh", "-c", script}, Timeout: time.Minute}}
		c.Scoll.Groups = []config.Group{{Name: "g", NIDs: []nid.NID{nidAt("127.0.0.71"), nidAt("127.0.0.72")}}}
	})
	// The first node sent its greeting to the second before the second one listened. Until the
	// first tries to connect again, a broadcast may leave the second out.
	await(t, "answer of both", func() bool {
		r, err := nodes[0].Broadcast(t.Context(), ping("g"), nil)
		return err == nil && len(r.Reached) == 2
	})
	c := nodes[0].running.Load()
	done := make(chan error, 1)
	go func() {
		r, err := nodes[0].Broadcast(t.Context(), BroadcastRequest{Group: "g", Verb: "run", Action: "wait", TimeoutMS: 60_000}, nil)
		if err == nil && r.Status != BroadcastOK {
			err = fmt.Errorf("%+v", r)
		}
		done <- err
	}()
	joined := func() int { return len(nodes[1].running.Load().agent.Groups()) }
	await(t, "action at both", func() bool {
		begun, err := filepath.Glob(filepath.Join(dir, "begun.*"))
		return err == nil && len(begun) == 2 && joined() == 1
	})
	replace := func(ids ...string) { // makes a group of the same name with other members
		var list []nid.NID
		for _, id := range ids {
			list = append(list, nidAt(id))
		}
		g, err := c.newGroup("g", "gossip", list, scoll.Tree{})
		if err == nil {
			err = use(t.Context(), c, g)
		}
		if err != nil {
			t.Error(err)
		}
	}
	before := targetOf(t, c, "g")
	h := c.groups.take(handleKey{"g", before.tree, before.members.Digest()})
	replace("127.0.0.71")
	if !h.retired || joined() != 1 {
		t.Error("the group was not replaced, or ended while a broadcast used it")
	}
	c.groups.end(h.group) // as if the command of the broadcast had ended before the broadcast; it does not end the group again, because h stays in use
	await(t, "refusal to end it now", func() bool {
		c.groups.mu.Lock()
		defer c.groups.mu.Unlock()
		return len(c.groups.rest) == 1
	})
	if err := errors.Join(gate.Close(), <-done); err != nil {
		t.Error(err)
	}
	await(t, "end of the first group, without another command", func() bool { return joined() == 0 })
}

// TestJustStarted: SC-A22: a member that has just started is reached, though
// connections to it failed a moment ago and are not tried again for a minute.
func TestJustStarted(t *testing.T) {
	spec.Covers(t, "SC-A22")
	n := scollNodes(t, 1, func(c *config.Config) {
		c.TCP.MinReconnect, c.TCP.MaxReconnect = time.Minute, time.Minute
		c.Scoll.Groups = []config.Group{{Name: "g", NIDs: []nid.NID{nidAt("127.0.0.71"), nidAt("127.0.0.72")}}}
	})[0]
	missing := func() int {
		r, err := n.Broadcast(t.Context(), ping("g"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Unreached)
	}
	if got := missing(); got != 1 {
		t.Fatalf("%d members are missing before it starts", got)
	}
	cfg := *n.Config
	cfg.Networks, cfg.RuntimeDir = "tcp(127.0.0.72)", t.TempDir()
	start(t, cfg, nil)
	await(t, "answer of the one that has just started", func() bool { return missing() == 0 })
}

// TestGreeted: a node first greets its parents in the trees of roots. The number of nodes that
// it greets is bounded.
func TestGreeted(t *testing.T) {
	var ids []nid.NID
	for i := range 200 {
		ids = append(ids, nidAt(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}).String()))
	}
	cfg := config.Default().Scoll
	cfg.Groups = []config.Group{{Name: "others", NIDs: ids[1:]}, {Name: "all", NIDs: ids}}
	cfg.Admin.AllowRoots = setsOf(t, "10.0.0.150@tcp")
	self := ids[0]
	c := &collective{cfg: cfg, self: self}
	if err := c.configureGroups(); err != nil {
		t.Fatal(err)
	}
	// This node has rank 0, and so is 50 positions after the root, whose rank is 150. In a binomial tree, the
	// position of its parent is 50 without the lowest bit (110010 in binary): 48, which is rank 198.
	got := c.greeted()
	if len(got) != maxGreeted || got[0] != ids[198] || slices.Contains(got, self) || got[1] != ids[1] {
		t.Errorf("%d: %v", len(got), got)
	}
	if c.self = nidAt("10.9.9.9"); len(c.greeted()) != 0 {
		t.Error("who is no member greets")
	}
}

// TestGroups: groups have names, a root need not be a member, and impossible groups are refused.
func TestGroups(t *testing.T) {
	nodes := scollNodes(t, 2, func(c *config.Config) {
		c.Scoll.Groups = []config.Group{{Name: "own", NIDs: []nid.NID{nidAt("127.0.0.71")}}}
	})
	n := nodes[0]
	create := func(name, tree, nids string) error {
		return n.CreateGroup(GroupCreate{Name: name, Tree: tree}, strings.NewReader(nids))
	}
	for _, step := range []struct {
		what  string
		err   error
		errno error
	}{
		{"a group", create("other", "flat", "127.0.0.72@tcp"), nil},
		{"the name again", create("other", "", "127.0.0.72@tcp"), syscall.EEXIST},
		{"a name of the configuration", create("own", "", "127.0.0.72@tcp"), syscall.EEXIST},
		{"no name", create("a/b", "", "127.0.0.72@tcp"), syscall.EINVAL},
		{"no tree", create("x", "oak", "127.0.0.72@tcp"), syscall.EINVAL},
		{"no NIDs", create("x", "", "server"), syscall.EINVAL},
		{"nobody but us", create("me", "", "127.0.0.71@tcp"), nil},
		{"an unknown group", n.DestroyGroup(t.Context(), GroupName{"x"}), syscall.ENOENT},
		{"no gossip", n.DestroyGroup(t.Context(), GroupName{AllGroup}), syscall.ENOENT},
	} {
		if !errors.Is(step.err, step.errno) || (step.err == nil) != (step.errno == nil) {
			t.Errorf("%s: %v, want %v", step.what, step.err, step.errno)
		}
	}
	r, err := n.Broadcast(t.Context(), ping("other"), nil)
	if err != nil || r.Status != BroadcastOK || !slices.Equal(r.Reached, []nid.NID{nidAt("127.0.0.72")}) {
		t.Errorf("a root that only sends: %+v, %v", r, err)
	}
	if groups := nodes[1].running.Load().agent.Groups(); len(groups) != 1 {
		t.Errorf("the member knows %+v", groups)
	}
	if err := n.DestroyGroup(t.Context(), GroupName{"other"}); err != nil {
		t.Error(err)
	}
	await(t, "end of the group at the member", func() bool { return len(nodes[1].running.Load().agent.Groups()) == 0 })
	for _, r := range []BroadcastRequest{
		{Group: "own", Verb: "dance"},
		{Group: "own", Verb: "run"},
		{Group: "own", Verb: "ping", Action: "x"},
		{Group: "own", Verb: "ping", TimeoutMS: -1},
		{Group: "own", Verb: "ping", Tree: "oak"},
	} {
		if _, err := n.Broadcast(t.Context(), r, nil); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if r, err := n.Broadcast(t.Context(), ping("me"), nil); err != nil || len(r.Reached) != 1 || len(unreachedOf(r)) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCloseInTime: if a worker does not end, Close returns when its context ends.
func TestCloseInTime(t *testing.T) {
	c := scollNodes(t, 1, func(*config.Config) {})[0]
	gate := make(chan struct{})
	c.running.Load().workers.Go(func() { <-gate })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- c.Close(ctx) }()
	select {
	case err := <-closed:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
	case <-time.After(60 * time.Second):
		t.Error("Close waits for a worker after its context is over")
	}
	close(gate)
}

// TestBroadcastEnds: a broadcast is over when its client stops waiting, or the daemon ends.
func TestBroadcastEnds(t *testing.T) {
	n := scollNodes(t, 2, func(c *config.Config) {
		c.Scoll.Admin.AllowRoots, c.Scoll.Admin.Unidentified = setsOf(t, "127.0.0.71@tcp"), true
		c.Scoll.Admin.Actions = []config.Action{{Name: "sleep", Run: []string{"/bin/sleep", "1000"}, Timeout: time.Minute}}
		c.Scoll.Groups = []config.Group{{Name: "two", NIDs: []nid.NID{nidAt("127.0.0.71"), nidAt("127.0.0.72")}}}
	})[0]
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := n.Broadcast(ctx, BroadcastRequest{Group: "two", Verb: "run", Action: "sleep", TimeoutMS: 60_000}, nil)
		done <- err
	}()
	await(t, "a broadcast", func() bool {
		s, err := n.Status()
		return err == nil && len(s.Broadcasts) > 0 && s.Stats["broadcasts"] == 1
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s, err := n.Status()
	if err != nil || len(s.Broadcasts) != 1 || s.Broadcasts[0].Running || s.Stats["broadcasts"] != 1 {
		t.Errorf("%+v, %v", s.Broadcasts, err)
	}
}

// TestOpenFailsHalfway: a module that cannot open, because the portal of collectives is in use,
// leaves nothing open, so that the next daemon can use the folder of bulk data.
func TestOpenFailsHalfway(t *testing.T) {
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.71"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort, cfg.RuntimeDir = "tcp(127.0.0.71)", int(port), t.TempDir()
	cfg.Scoll.Enable = true
	_, err = node.New(node.Config{Config: cfg, Modules: func(h node.Host) []node.Module {
		if _, err := scoll.New(h.Table, scoll.Config{}); err != nil {
			t.Error(err)
		}
		g := gossip.New(h)
		r := rmcast.New(h, g.SeenView())
		return []node.Module{g, r, New(h, g, r)}
	}})
	if !errors.Is(err, syscall.EBUSY) {
		t.Fatalf("opened beside another agent: %v, want EBUSY", err)
	}
	dir, err := os.Open(cfg.RuntimeDir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("the folder of bulk data is still in use: %v", err)
	}
}
