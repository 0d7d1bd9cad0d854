package admin

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestVerbs: each verb is answered by every member, the root included, over each
// kind of tree.
func TestVerbs(t *testing.T) {
	s := newServers(t, 13, func(i int, admin *Config, _ *scoll.Config) {
		admin.Version = fmt.Sprint("v", i)
		admin.Digest[0] = byte(i)
		admin.Actions = map[string]Action{"say": {Run: []string{"/bin/sh", "-c", `cat; echo " and $SCOLL_ROOT $0"`}, Timeout: time.Minute}}
	})
	g := s.group(4)
	s.allAnswered(s.send(4, g, Order{Verb: Ping}), scoll.OK)
	for i, p := range answersByNode(s, s.send(4, g, Order{Verb: VersionOf})) {
		if string(p.Data) != fmt.Sprint("v", i) {
			t.Errorf("version of %d: %q", i, p.Data)
		}
	}
	for i, p := range answersByNode(s, s.send(4, g, Order{Verb: ConfigOf})) {
		if len(p.Data) != 32 || p.Data[0] != byte(i) {
			t.Errorf("digest of %d: %x", i, p.Data)
		}
	}
	bulk := bytes.Repeat([]byte("0123456789"), 50_001)
	for i, p := range answersByNode(s, s.send(4, g, Order{Verb: Text, Text: []byte("hello"), Bulk: bulk})) {
		if !bytes.Equal(p.Data, Sum([]byte("hello"), [][]byte{bulk})) {
			t.Errorf("sum of %d: %x", i, p.Data)
		}
	}
	for i, p := range answersByNode(s, s.send(4, g, Order{Verb: Run, Action: "say", Text: []byte("text"), Timeout: time.Minute})) {
		ran, err := ParseRan(p.Data)
		if want := fmt.Sprintf("text and %v /bin/sh\n", nidOf(4)); err != nil || string(ran.Output) != want || ran.Exit != 0 || ran.Cut || ran.TimeOver {
			t.Errorf("node %d ran %+v %q, %v", i, ran, ran.Output, err)
		}
	}
	if st := s.nodes[3].admin.Stats(); st.Answered != 5 || st.Actions != 1 || s.nodes[3].admin.memory.Load() != 0 {
		t.Errorf("%+v, %d bytes taken", st, s.nodes[3].admin.memory.Load())
	}
}

// answersByNode returns the answers in the order of the servers, which is that of their NIDs in
// the simulated network.
func answersByNode(s *servers, o *Outcome) []Piece {
	s.t.Helper()
	s.allAnswered(o, scoll.OK)
	return o.Answers
}

// TestClock: SC-125: four timestamps per hop give the offsets of clocks, within the bound in
// the answer.
func TestClock(t *testing.T) {
	spec.Covers(t, "SC-125")
	s := newServers(t, 22, nil)
	for i, k := range s.nodes {
		k.skew = time.Duration(i*i-100) * time.Millisecond
	}
	g := s.group(7)
	o := s.send(7, g, Order{Verb: Clock})
	for i, p := range answersByNode(s, o) {
		c, err := ParseReading(p.Data)
		want := s.nodes[i].skew - s.nodes[7].skew
		if err != nil || c.Offset < want-c.Bound || c.Offset > want+c.Bound {
			t.Errorf("node %d: offset %v ± %v, want %v, %v", i, c.Offset, c.Bound, want, err)
		}
		// Each hop adds half of its round-trip time to the bound, which is one latency. The tree has up to five hops,
		// and the test allows two latencies for each.
		if hops := 5 * 2 * latency; c.Bound > hops || i != 7 && c.Bound < latency {
			t.Errorf("node %d: bound %v, want up to %v", i, c.Bound, hops)
		}
		if at := time.Duration(c.Received-o.Sent) - want; i != 7 && (at < latency-c.Bound || at > 5*latency+c.Bound) {
			t.Errorf("node %d: received after %v", i, at)
		}
	}
}

// TestTrace: the trace of each member says when the member did what. The path from the root to the child that
// answered last, and so on from member to member, ends at a leaf, and the instants along the path are in the
// right order.
func TestTrace(t *testing.T) {
	s := newServers(t, 22, nil)
	for i, k := range s.nodes {
		k.skew = time.Duration(i*i-100) * time.Millisecond
	}
	o := s.send(7, s.group(7), Order{Verb: Tracing})
	traces := map[nid.NID]Trace{}
	for i, p := range answersByNode(s, o) {
		tr, err := ParseTrace(p.Data)
		if err != nil || tr.Received > tr.Forwarded || tr.Forwarded > tr.Sent || tr.Paused < 0 {
			t.Errorf("node %d: %+v, %v", i, tr, err)
		}
		if i != 7 && (tr.Bound <= 0 || tr.Bound > 5*2*latency) {
			t.Errorf("node %d: offset %v ± %v", i, tr.Offset, tr.Bound)
		}
		traces[p.NID] = tr
	}
	at := traces[nidOf(7)]
	if elapsed := time.Duration(at.Sent - at.Received); elapsed != o.Elapsed && o.Elapsed > 0 && elapsed < 2*latency {
		t.Errorf("the root took %v", elapsed)
	}
	levels := 0
	for ; at.Last != 0; levels++ {
		below, known := traces[at.Child]
		if arrived := time.Duration(at.Last-at.Forwarded) - 2*latency; !known || arrived < 0 {
			t.Fatalf("%v is no child, or its answer came %v after its time", at.Child, arrived)
		}
		at = below
	}
	if levels < 2 || levels > 5 {
		t.Errorf("%d levels in a binomial tree of 22", levels)
	}
}

// TestMayAct: a member runs actions and takes bulk data only if its configuration allows both
// the root to order them and the parent to forward them. It answers other requests of any node.
func TestMayAct(t *testing.T) {
	// In the binomial tree of eight members with root 0, the parent of 7 is 6, and the parent of 6
	// is 4.
	s := newServers(t, 8, func(i int, admin *Config, _ *scoll.Config) {
		admin.Actions = map[string]Action{"true": {Run: []string{"/bin/true"}, Timeout: time.Minute}}
		switch i {
		case 1:
			admin.MayAct = nil
		case 7:
			admin.MayAct = func(root, parent nid.NID) bool { return root == nidOf(0) && parent != nidOf(6) }
		}
	})
	g := s.group(0)
	run := Order{Verb: Run, Action: "true", Timeout: time.Minute}
	var got []scoll.Status
	for _, p := range s.send(0, g, run).Answers {
		got = append(got, p.Status)
	}
	if want := []scoll.Status{0, scoll.EPERM, 0, 0, 0, 0, 0, scoll.EPERM}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	s.allAnswered(s.send(0, g, Order{Verb: Ping}), scoll.OK)
	o := s.send(0, g, Order{Verb: Text, Bulk: []byte("data")})
	want := []scoll.Unreached{{NID: nidOf(1), Status: scoll.EPERM}, {NID: nidOf(7), Status: scoll.EPERM}}
	if !slices.Equal(o.Unreached, want) || len(o.Answers) != 6 {
		t.Errorf("unreached %v, want %v; %d answers", o.Unreached, want, len(o.Answers))
	}
	run.Live = true
	if o = s.send(2, s.group(2), run); len(o.Unreached) > 0 || o.Answers[1].Status != scoll.EPERM || o.Answers[7].Status != scoll.EPERM {
		t.Errorf("the root is not allowed: unreached %v, answers %v", o.Unreached, o.Answers)
	}
	o = s.send(0, g, run) // member 7 is unreached: it runs actions of this root, but not those that this parent forwards
	if want = want[1:]; !slices.Equal(o.Unreached, want) || len(o.Answers) != 7 || o.Answers[1].Status != scoll.EPERM {
		t.Errorf("unreached %v, want %v; answers %v", o.Unreached, want, o.Answers)
	}
	if st := s.nodes[1].admin.Stats(); st.Denied != 4 || st.Actions != 0 {
		t.Errorf("%+v", st)
	}
}

// TestBounds: a member refuses requests beyond the limits of its configuration.
func TestBounds(t *testing.T) {
	s := newServers(t, 4, func(i int, admin *Config, _ *scoll.Config) {
		switch i {
		case 1:
			admin.MaxBulk = 99
		case 3:
			admin.MaxMemory = 2000
		}
	})
	g := s.group(0)
	o := s.send(0, g, Order{Verb: Text, Bulk: make([]byte, 2001)})
	want := []scoll.Unreached{{NID: nidOf(1), Status: scoll.EMSGSIZE}, {NID: nidOf(3), Status: scoll.EMAXMEMORY}}
	if !slices.Equal(o.Unreached, want) {
		t.Errorf("unreached %v, want %v", o.Unreached, want)
	}
	s.allAnswered(s.send(0, g, Order{Verb: Text, Bulk: make([]byte, 99)}), scoll.OK)
	if a, b := s.nodes[1].admin.Stats(), s.nodes[3].admin.Stats(); a.Bulk != 1 || b.Memory != 1 || s.nodes[3].admin.memory.Load() != 0 {
		t.Errorf("%+v %+v", a, b)
	}
	s.allAnswered(s.send(0, g, Order{Verb: Run, Action: "nothing", Timeout: time.Second}), enoent)
	for _, k := range s.nodes { // each node behaves as if it ran two actions, as many as MaxActions allows
		k.admin.cfg.Actions = map[string]Action{"true": {Run: []string{"/bin/true"}, Timeout: time.Minute}}
		k.admin.actions <- struct{}{}
		k.admin.actions <- struct{}{}
	}
	s.allAnswered(s.send(0, g, Order{Verb: Run, Action: "true", Timeout: time.Minute}), scoll.EBUSY)
	if st := s.nodes[2].admin.Stats(); st.Busy != 1 || st.Unknown != 1 || st.Actions != 0 {
		t.Errorf("%+v", st)
	}
}

// TestLongAnswers: SC-54: an answer that is longer than a message is sent in several messages.
func TestLongAnswers(t *testing.T) {
	spec.Covers(t, "SC-54")
	s := newServers(t, 40, func(_ int, admin *Config, _ *scoll.Config) {
		admin.Output = 60_000
		admin.Actions = map[string]Action{"much": {Run: []string{"/bin/sh", "-c", "head -c 70000 /dev/zero | tr '\\0' x; echo end"}, Timeout: time.Minute}}
	})
	o := s.send(0, s.group(0), Order{Verb: Run, Action: "much", Timeout: time.Minute})
	for i, p := range answersByNode(s, o) {
		ran, err := ParseRan(p.Data)
		if want := strings.Repeat("x", 60_000-4) + "end\n"; err != nil || string(ran.Output) != want || !ran.Cut {
			t.Errorf("node %d: %d bytes, %v", i, len(ran.Output), err)
		}
	}
}

// TestOtherVersions: SC-159: a member that does not know a request's version forwards the request, gathers the
// answers, and answers itself with the version that it knows.
func TestOtherVersions(t *testing.T) {
	spec.Covers(t, "SC-159")
	s := newServers(t, 8, nil)
	k, g := s.nodes[0], s.group(0)
	c := k.admin.newCall(t.Context(), Order{Verb: Ping})
	c.request.Version = Version + 1
	s.fabric.Do(0, func(*simHost) {
		r, err := k.admin.request(g, Order{}, c)
		if err == nil {
			err = k.admin.begin(r, c)
		}
		if err != nil {
			t.Error(err)
		}
	})
	s.run(time.Second)
	if len(c.outcome.Answers) != 8 || len(c.outcome.Unreached) > 0 {
		t.Fatalf("%d answers, unreached %v", len(c.outcome.Answers), c.outcome.Unreached)
	}
	v := scoll.Versions{Own: Version + 1}
	for _, p := range c.outcome.Answers[1:] {
		if err := v.Merge(p.Data); p.Status != scoll.ENOTSUP || err != nil {
			t.Errorf("%v: %v, %v", p.NID, p.Status, err)
		}
	}
	if v.Lowest != Version || v.Count != 7 {
		t.Errorf("%+v", v)
	}
}

// TestNonsense: malformed requests are refused, and counted.
func TestNonsense(t *testing.T) {
	s := newServers(t, 2, nil)
	k, g := s.nodes[0], s.group(0)
	for _, change := range []func(*Request){
		func(q *Request) { q.Answer = MaxAnswer + 1 },
		func(q *Request) { q.Verb = 99 },
	} {
		c := k.admin.newCall(t.Context(), Order{Verb: Ping})
		change(&c.request)
		payload := c.request.AppendTo(nil)
		c.request.Answer = 100
		s.fabric.Do(0, func(*simHost) {
			r, err := g.NewRequest(scoll.RequestConfig{Payload: payload, Private: c})
			if err == nil {
				err = k.admin.begin(r, c)
			}
			if err != nil {
				t.Error(err)
			}
		})
		s.run(time.Second)
		o := c.outcome
		if !(len(o.Unreached) == 1 && o.Unreached[0].Status == scoll.EINVAL) && !(len(o.Answers) == 2 && o.Answers[1].Status == scoll.EINVAL) {
			t.Errorf("unreached %v, answers %v", o.Unreached, o.Answers)
		}
	}
	if st := s.nodes[1].admin.Stats(); st.Malformed != 2 {
		t.Errorf("%+v", st)
	}
}

// TestAgain: SC-A20: a broadcast to the live members is sent again because one member learned of
// a death late. Each member runs the request only once, and the answer of each counts.
func TestAgain(t *testing.T) {
	spec.Covers(t, "SC-A20")
	for _, p := range again(t, func(*servers) {}) {
		if p.Status != scoll.OK {
			t.Errorf("%v: %v", p.NID, p.Status)
		}
	}
}

// TestAgainForgotten: SC-A20: between the two attempts, so many other requests came to a member that
// it has forgotten its answer. It does not run the request again, and answers at once that it cannot
// say how the request ended.
func TestAgainForgotten(t *testing.T) {
	spec.Covers(t, "SC-A20")
	const forgetful = 4
	for _, p := range again(t, func(s *servers) {
		for i := range 2 * kept {
			s.nodes[forgetful].admin.memo.of(nidOf(i), nidOf(i), nil, false)
		}
	}) {
		want := scoll.OK
		if p.NID == nidOf(forgetful) {
			want = scoll.ESTALE
		}
		if p.Status != want {
			t.Errorf("%v: %v, want %v", p.NID, p.Status, want)
		}
	}
}

// again sends an action to nine servers, of which the sixth is dead and the last one learns of that
// late, so that there are two attempts. It calls the function between after the first one, checks
// that each live server ran the action once, and returns their answers.
func again(t *testing.T, between func(*servers)) []Piece {
	t.Helper()
	views := make([]*fakeView, 9)
	s := newServers(t, 9, func(i int, admin *Config, agent *scoll.Config) {
		views[i] = &fakeView{n: 9}
		agent.View = views[i]
		agent.Propagation = 50 * time.Millisecond
		admin.Actions = map[string]Action{"true": {Run: []string{"/bin/true"}, Timeout: time.Minute}}
	})
	g := s.group(0)
	s.fabric.Kill(sim.NodeID(5))
	for i := range views {
		if i != 5 && i != 8 {
			s.fabric.Do(sim.NodeID(i), func(*simHost) { views[i].die(5) })
		}
	}
	s.fabric.Do(8, func(h *simHost) {
		h.Clock().AfterFunc(20*time.Millisecond, func() { views[8].die(5) })
		h.Clock().AfterFunc(30*time.Millisecond, func() { between(s) })
	})
	o := s.send(0, g, Order{Verb: Run, Action: "true", Live: true, Timeout: time.Minute})
	if len(o.Answers) != 8 || len(o.Unreached) > 0 || s.nodes[0].agent.Stats().Again == 0 {
		t.Fatalf("%d answers, unreached %v, %+v", len(o.Answers), o.Unreached, s.nodes[0].agent.Stats())
	}
	for i, k := range s.nodes {
		if n := k.admin.Stats().Actions; i != 5 && n != 1 {
			t.Errorf("node %d ran it %d times", i, n)
		}
	}
	return o.Answers
}

// TestStopping: SC-71: a service that has been closed refuses requests, and Broadcast returns
// an error.
func TestStopping(t *testing.T) {
	spec.Covers(t, "SC-71")
	s := newServers(t, 4, nil)
	g := s.group(0)
	s.nodes[3].admin.Close()
	o := s.send(0, g, Order{Verb: Ping})
	if want := []scoll.Unreached{{NID: nidOf(3), Status: scoll.ECANCELED}}; !slices.Equal(o.Unreached, want) || len(o.Answers) != 3 {
		t.Errorf("unreached %v, want %v", o.Unreached, want)
	}
	s.nodes[0].admin.Close()
	if _, err := s.nodes[0].admin.Broadcast(t.Context(), g, Order{Verb: Ping}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestDistrust: if any process can use any NID, a member does not run actions that other nodes
// order, whatever the configuration allows. It runs its own, and answers all other requests.
func TestDistrust(t *testing.T) {
	s := newServers(t, 4, func(i int, admin *Config, _ *scoll.Config) {
		admin.Actions = map[string]Action{"true": {Run: []string{"/bin/true"}, Timeout: time.Minute}}
		if i != 3 {
			admin.Distrust = func(nid.NID) string { return "accept: trust" }
		}
	})
	g := s.group(0)
	var got []scoll.Status
	for _, p := range s.send(0, g, Order{Verb: Run, Action: "true", Timeout: time.Minute}).Answers {
		got = append(got, p.Status)
	}
	if want := []scoll.Status{scoll.OK, Distrusted, Distrusted, scoll.OK}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	if st := s.nodes[1].admin.Stats(); st.Distrusted != 1 || st.Actions != 0 {
		t.Errorf("%+v", st)
	}
	s.allAnswered(s.send(0, g, Order{Verb: Text, Bulk: []byte("data")}), scoll.OK)
}

// TestStrangersMemory: requests of strangers use at most a quarter of the memory, and release
// it when they end.
func TestStrangersMemory(t *testing.T) {
	admin := New(Config{MaxMemory: 1000})
	defer admin.Close()
	for _, step := range []struct {
		memory  int64
		strange bool
		want    bool
	}{{200, true, true}, {100, true, false}, {700, false, true}, {200, false, false}, {100, false, true}} {
		if got := admin.take(step.memory, step.strange); got != step.want {
			t.Errorf("%+v: %v", step, got)
		}
	}
	admin.give(200, true)
	admin.give(800, false)
	if admin.memory.Load() != 0 || admin.strange.Load() != 0 {
		t.Errorf("%d and %d bytes are left", admin.memory.Load(), admin.strange.Load())
	}
}
