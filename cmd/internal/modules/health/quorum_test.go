package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestNoQuorumReasons: CH-3: each reason is shown with its word and its numbers. If gossip does not run, was left or
// has given up, that reason is shown, whatever gossip has reported.
func TestNoQuorumReasons(t *testing.T) {
	spec.Covers(t, "CH-3")
	listens := gossip.Status{Silent: true, Cycle: 7, Interval: 250 * time.Millisecond, Limits: engine.Limits{Dead: 17, Stealth: 21}}
	speaks := func(cycle uint64) *gossip.Status {
		return &gossip.Status{Cycle: cycle, Interval: time.Second, Limits: engine.Limits{Dead: 17, Stealth: 21}}
	}
	silentAlone, silentStopped := listens, listens
	silentStopped.Stopped = true
	silentLeft := silentStopped
	silentLeft.Left = true
	away := []nid.NID{nid.MustParse("10.0.0.2@tcp"), nid.MustParse("10.0.0.3@tcp")}
	for _, c := range []struct {
		s    sight
		why  QuorumLack
		text string
	}{
		{sight{known: 3}, LackGossip, "gossip does not run: 'gossipctl start' starts it"},
		{sight{gossip: &silentStopped, unsure: true}, LackParams, "gossip has given up"},
		{sight{gossip: &silentLeft, known: 3, alive: 1}, LackLeft, "this node has left gossip"},
		{
			sight{gossip: &silentAlone, unsure: true, known: 3, alive: 1, notSeen: away},
			LackListening,
			"gossip still listens, and others rarely send to a node that says nothing: cycle 7 of its first 21, 3.75s more at most; sees 1 of 3 servers, not 10.0.0.2@tcp 10.0.0.3@tcp",
		},
		{sight{gossip: &silentAlone, known: 3, alive: 2, notSeen: away[1:]}, LackNone, "within a tick"},
		{sight{gossip: speaks(40), unsure: true, known: 3, alive: 1, notSeen: away}, LackUnsure, "this node stood still"},
		{sight{gossip: speaks(17), known: 3, alive: 1, notSeen: away}, LackStarting, "gossip has just begun: cycle 17 of its first 17, 1s more at most; sees 1 of 3"},
		{sight{gossip: speaks(18), known: 3, alive: 1, notSeen: away}, LackCutOff, "cut off: sees 1 of 3 servers, not 10.0.0.2@tcp 10.0.0.3@tcp"},
		{sight{gossip: speaks(18), known: 4, alive: 2, notSeen: away}, LackCutOff, "cut off: sees 2 of 4 servers"},
	} {
		q := c.s.noQuorum()
		if q.Why != c.why || !strings.Contains(q.Text, c.text) {
			t.Errorf("%+v: %q, %q, want %q, %q", c.s, q.Why, q.Text, c.why, c.text)
		}
		if counts := q.Cycles > 0; counts != (c.why == LackListening || c.why == LackStarting) {
			t.Errorf("%v counts cycles: %+v", c.why, q)
		}
	}
}

// TestNoQuorumBounds: the text and the list have a bounded size, however many servers there are.
func TestNoQuorumBounds(t *testing.T) {
	var away []nid.NID
	for i := range 1000 {
		away = append(away, nid.MustParse(fmt.Sprintf("10.0.%d.%d@tcp", i/200, i%200+1)))
	}
	q := (&sight{gossip: &gossip.Status{Cycle: 99}, known: 1001, alive: 1, notSeen: away}).noQuorum()
	if len(q.NotSeen) != maxNotSeen || !strings.HasSuffix(q.Text, " 10.0.0.8@tcp and 992 more") {
		t.Errorf("%d NIDs, %q", len(q.NotSeen), q.Text)
	}
}

// TestLackLog: a reason for the lack of a quorum is logged once. A different reason is logged at
// once, and the same one again after a minute. If there was a quorum in between, the same reason
// is logged at once, too.
func TestLackLog(t *testing.T) {
	var l lackLog
	for i, c := range []struct {
		why  QuorumLack
		at   time.Duration
		want bool
	}{
		{LackListening, time.Second, true},
		{LackListening, 2 * time.Second, false},
		{LackCutOff, 3 * time.Second, true},
		{LackCutOff, 3*time.Second + lackEvery - 1, false},
		{LackCutOff, 3*time.Second + lackEvery, true},
		{"", 70 * time.Second, false},
		{LackCutOff, 71 * time.Second, true},
	} {
		if got := l.tells(c.why, c.at); got != c.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
}

// lack returns why server i has no quorum, or nil if it has one.
func (h *healthNodes) lack(i int) *NoQuorum {
	s, err := h.nodes[i].Status()
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Server.NoQuorum
}

// TestHealthListens: CH-3: while the gossip of a server is silent after its start, the status of the server says
// that this is why it has no quorum.
func TestHealthListens(t *testing.T) {
	spec.Covers(t, "CH-3")
	h := newHealthNodes(t, 1, 0, func(_ int, c *config.Config) {
		c.Gossip.NIDs = append(c.Gossip.NIDs, nid.MustParse("127.0.0.99@tcp"))
		c.Gossip.ColdStart, c.Gossip.Interval = false, time.Minute // the node is silent for longer than this test lasts
	})
	if q := h.lack(0); q == nil || q.Why != LackListening || q.LeftMS < 60_000 || len(q.NotSeen) != 1 {
		t.Errorf("%+v", q)
	}
}

// TestHealthCutOff: CH-3: a server that is cut off from all others names the servers that it
// does not see.
func TestHealthCutOff(t *testing.T) {
	spec.Covers(t, "CH-3")
	t.Parallel()
	h := newHealthNodes(t, 2, 0, nil)
	await(t, "quorum", func() bool { return h.lack(0) == nil && h.lack(1) == nil })
	h.stop(1)
	// At first the reason may be another one, because the gossip of this server may still be starting.
	await(t, "loss", func() bool { q := h.lack(0); return q != nil && q.Why == LackCutOff })
	if q := h.lack(0); q == nil || len(q.NotSeen) != 1 || q.NotSeen[0] != h.nid(1) || !strings.Contains(q.Text, "sees 1 of 2 servers, not 127.0.0.82@tcp") {
		t.Errorf("%+v", q)
	}
}
