package gossip_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// others are the NIDs of this node and of two nodes that do not exist.
const others = "127.0.0.[64-66]@tcp"

// fast returns parameters that make gossip fast enough for tests.
func fast() gossip.InitRequest {
	g := config.Default().Gossip
	g.Interval, g.ColdStart = 200*time.Millisecond, true
	return gossip.NewInitRequest(g)
}

const address = "127.0.0.64"

// newGossipNode starts a node with one NI, on the constant address, and with gossip as the only
// module.
func newGossipNode(t testing.TB, change func(*config.Gossip)) (m *gossip.Module, err error) {
	t.Helper()
	port, err := loopback.FreePort(netip.MustParseAddr(address))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = "tcp("+address+")", int(port)
	change(&cfg.Gossip)
	n, err := node.New(node.Config{Config: cfg, Modules: func(h node.Host) []node.Module {
		m = gossip.New(h)
		return []node.Module{m}
	}})
	if err == nil {
		t.Cleanup(func() {
			if err := n.Shutdown(context.Background()); err != nil {
				t.Errorf("shutdown: %v", err)
			}
		})
	}
	return m, err
}

func mustGossipNode(t testing.TB) *gossip.Module {
	t.Helper()
	n, err := newGossipNode(t, func(*config.Gossip) {})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestGossipCommands: commands start and stop gossip and set its parameters (GO-40, GO-45,
// GO-49).
func TestGossipCommands(t *testing.T) {
	spec.Covers(t, "GO-40", "GO-45", "GO-49")
	n := mustGossipNode(t)
	slow := fast()
	slow.IntervalMS = 500
	init := func(r gossip.InitRequest, nids string) func() error {
		return func() error { return n.Init(r, strings.NewReader(nids)) }
	}
	broken := fast()
	broken.Fudge = 7
	short := fast()
	short.IntervalMS = 199
	wrapped := fast()
	wrapped.IntervalMS += 1 << 58 // converted to a Duration, this number wraps around to 200 ms again
	for i, step := range []struct {
		what  string
		do    func() error
		errno error
		text  string // part of the error's text
		state gossip.State
	}{
		{"start without parameters", n.Start, syscall.EINVAL, "gossip has no parameters yet", gossip.Unconfigured},
		{"stop without parameters", n.Stop, syscall.ESRCH, "gossip does not run, and has no parameters", gossip.Unconfigured},
		{"bad numbers leave nothing", init(broken, others), syscall.EINVAL, "fudge 7 is above 0", gossip.Unconfigured},
		{"a short interval", init(short, others), syscall.EINVAL, "interval 199ms is below 200ms", gossip.Unconfigured},
		{"an interval that wraps", init(wrapped, others), syscall.EINVAL, "want 0 to", gossip.Unconfigured},
		{"bad NIDs", init(fast(), "127.0.0.64@tcp x"), syscall.EINVAL, `NIDs:1:1: NIDs "x"`, gossip.Unconfigured},
		{"mixed networks", init(fast(), "127.0.0.64@tcp 10.0.0.1@tcp1"), syscall.EINVAL, "another network", gossip.Unconfigured},
		{"a list without us", init(fast(), "127.0.0.[1-3]@tcp"), syscall.EINVAL, "no NID of this node is among", gossip.Unconfigured},
		{"init", init(fast(), others), nil, "", gossip.Stopped},
		{"the same again", init(fast(), "127.0.0.66@tcp 127.0.0.[64-65]@tcp"), nil, "", gossip.Stopped},
		{"others while stopped", init(slow, others), nil, "", gossip.Stopped},
		{"start", n.Start, nil, "", gossip.Listening},
		{"start again", n.Start, syscall.EALREADY, "gossip runs already", gossip.Listening},
		{"the same while it runs", init(slow, others), nil, "", gossip.Listening},
		{"the interval while it runs", init(fast(), others), syscall.EBUSY, "gossip runs with other parameters", gossip.Listening},
		{"stop", n.Stop, nil, "", gossip.Stopped},
		{"stop again", n.Stop, syscall.ESRCH, "gossip does not run", gossip.Stopped},
		{"start with what was kept", n.Start, nil, "", gossip.Listening},
	} {
		err := step.do()
		if !errors.Is(err, step.errno) || (err == nil) != (step.errno == nil) {
			t.Errorf("%d, %s: %v, want %v", i, step.what, err, step.errno)
		}
		if err != nil && !strings.Contains(err.Error(), step.text) {
			t.Errorf("%d, %s: %v, want %q", i, step.what, err, step.text)
		}
		state := n.Status().State
		if state == gossip.Running {
			state = gossip.Listening // either state is accepted: a node with a cold start is Running from its first cycle on
		}
		if state != step.state {
			t.Errorf("%d, %s: state %s, want %s", i, step.what, state, step.state)
		}
	}
	p, err := n.Params()
	if err != nil || p.IntervalMS != 500 || p.N != 3 || p.Self != nid.MustParse("127.0.0.64@tcp") {
		t.Errorf("params %+v, %v", p, err)
	}
}

// TestGossipCommandsTakeTurns: GO-40: of many commands at the same time, exactly one starts
// gossip, and one stops it.
func TestGossipCommandsTakeTurns(t *testing.T) {
	spec.Covers(t, "GO-40")
	n := mustGossipNode(t)
	if err := n.Init(fast(), strings.NewReader(others)); err != nil {
		t.Fatal(err)
	}
	atOnce := func(do func() error) (done int) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := do(); err == nil {
					mu.Lock()
					done++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		return done
	}
	for range 3 {
		if done := atOnce(n.Start); done != 1 {
			t.Errorf("%d starts succeeded, want 1", done)
		}
		if done := atOnce(n.Stop); done != 1 {
			t.Errorf("%d stops succeeded, want 1", done)
		}
	}
}

// TestGossipFromConfig: gossip begins with the node, without a command (GO-41). An impossible
// configuration is refused with an error that has the line (GO-46).
func TestGossipFromConfig(t *testing.T) {
	spec.Covers(t, "GO-41", "GO-46")
	at := config.Position{File: "lnetd.yaml", Line: 7, Column: 3}
	list := func(texts ...string) (ids []nid.NID) {
		for _, s := range texts {
			ids = append(ids, nid.MustParse(s))
		}
		return ids
	}
	n, err := newGossipNode(t, func(g *config.Gossip) {
		g.NIDs, g.NIDsAt = list("127.0.0.64@tcp", "127.0.0.65@tcp"), at
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := n.Status(); s.State != gossip.Listening || s.Snapshot.N != 2 {
		t.Errorf("%+v, want it to run", s)
	}
	waiting, err := newGossipNode(t, func(g *config.Gossip) {
		g.NIDs, g.NIDsAt, g.Start = list("127.0.0.64@tcp", "127.0.0.65@tcp"), at, false
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := waiting.Status(); s.State != gossip.Stopped {
		t.Errorf("%+v, want it to wait", s)
	}
	_, err = newGossipNode(t, func(g *config.Gossip) {
		g.NIDs, g.NIDsAt = list("127.0.0.65@tcp", "127.0.0.66@tcp"), at
	})
	if err == nil || err.Error() != "lnetd.yaml:7:3: no NID of this node is among the participants" {
		t.Errorf("a list without ourselves: %v", err)
	}
	if hint := cli.HintOf(err); hint != "this node is 127.0.0.64@tcp: add one of its NIDs to the list, of every participant" {
		t.Errorf("hint %q", hint)
	}
}

// TestGossipFiles: GO-64: the values in all files belong to the same moment. Values that remain
// valid after a stop stay in the files.
func TestGossipFiles(t *testing.T) {
	spec.Covers(t, "GO-64")
	n := mustGossipNode(t)
	files := func() map[string]string {
		all := map[string]string{}
		for _, f := range n.Files().Source() {
			all[f.Name] = string(f.Head) + string(f.Body)
		}
		return all
	}
	if got := files(); len(got) != 0 {
		t.Errorf("files before an init: %v", got)
	}
	init := fast()
	init.Seed = 5
	if err := n.Init(init, strings.NewReader(others)); err != nil {
		t.Fatal(err)
	}
	stopped := files()
	if want := "127.0.0.64@tcp\n127.0.0.65@tcp\n127.0.0.66@tcp\n"; stopped["participants"] != want || len(stopped) != 2 {
		t.Errorf("files after an init: %q", stopped)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	running := files()
	var clock, cycle uint64
	if _, err := fmt.Sscanf(running["clock"], "clock %d\ncycle %d\n", &clock, &cycle); err != nil {
		t.Errorf("clock %q: %v", running["clock"], err)
	}
	head := fmt.Sprintf("# clock %d\n", clock)
	want := map[string]string{
		"ages":   head + "127.0.0.64@tcp 0\n127.0.0.65@tcp 255\n127.0.0.66@tcp 255\n",
		"health": head + "127.0.0.64@tcp alive 0\n127.0.0.65@tcp unknown 0\n127.0.0.66@tcp unknown 0\n",
		"quorum": head + "quorum no\nalive 1\nparticipants 3\npercent 50\n",
	}
	for name, text := range want {
		if diff := cmp.Diff(text, running[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, text := range map[string]string{
		"parameters": "\ninterval_ms 200\nrtt_ms 0\nparticipants 3\n", "statistics": head + "pings_sent ",
	} {
		if !strings.Contains(running[name], text) {
			t.Errorf("%s lacks %q:\n%s", name, text, running[name])
		}
	}
	if len(running) != len(n.Files().Names) {
		t.Errorf("%d files, want %v", len(running), n.Files().Names)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stopped, files()); diff != "" {
		t.Errorf("after a stop (-before +after):\n%s", diff)
	}
}

// TestGossipAsks: while gossip does not run, a request to it gets an error that says so.
func TestGossipAsks(t *testing.T) {
	n := mustGossipNode(t)
	_, explain := n.Explain(nid.MustParse("127.0.0.65@tcp"))
	_, list := n.ListStatus()
	_, params := n.Params()
	for i, err := range []error{
		explain, list, params, n.Cancel(), n.Commit(gossip.CommitRequest{}), n.Stage(strings.NewReader(others)),
	} {
		if !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) == "" {
			t.Errorf("%d: %v, want ESRCH and a hint", i, err)
		}
	}
	if err := errors.Join(n.Init(fast(), strings.NewReader(others)), n.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Explain(nid.MustParse("127.0.0.67@tcp")); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("explain a stranger: %v, want ENOENT", err)
	}
	if e, err := n.Explain(nid.MustParse("127.0.0.65@tcp")); err != nil || e.Heard || e.Age != 255 {
		t.Errorf("explain: %+v, %v", e, err)
	}
	if err := n.Cancel(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("cancel nothing: %v, want EINVAL", err)
	}
	if err := n.Stage(strings.NewReader("127.0.0.[64-67]@tcp")); err != nil {
		t.Errorf("stage: %v", err)
	}
	// The other nodes never joined, so Commit does not wait for them.
	if err := n.Commit(gossip.CommitRequest{}); err != nil {
		t.Errorf("commit: %v", err)
	}
	if p, err := n.Params(); err != nil || p.N != 4 {
		t.Errorf("params after the commit: %+v, %v", p, err)
	}
	// The next start uses the list that was committed.
	if err := errors.Join(n.Stop(), n.Start()); err != nil {
		t.Fatal(err)
	}
	if s := n.Status(); s.Snapshot.N != 4 {
		t.Errorf("%d participants after another start, want 4", s.Snapshot.N)
	}
}
