package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// Bounds of G-MS for links between delegates and supervisors, with default parameters.
const (
	linkTau     = 200 * time.Millisecond
	linkTimeout = 3500 * time.Millisecond
	// takeOverBound is the time from the cut until every census has a delegate with a path as
	// the active one: a delegate gives up three supervisors one after the other, one attribute
	// crosses the zone, and one crosses the management zone.
	takeOverBound = mostFailures*linkTimeout + 8*linkTau
	staleBound    = linkTimeout + (staleAfter+4)*linkTau
	lostBound     = lostAfter*linkTimeout + 4*linkTau
)

// linked is a system of a base zone below three supervisors, with some links between its
// delegates and the supervisors cut.
type linked struct {
	*system
	delegates []*node
	mask      int // bit 3·delegate + supervisor is set if the link between the two is cut
}

func newLinked(t *testing.T, seed uint64, size, mask int) *linked {
	t.Helper()
	l := &linked{system: newSystem(t, seed, 1, size, 3), mask: mask}
	l.until(5*time.Second, l.right)
	l.run(3 * time.Second)
	for _, n := range l.zones[0] {
		if n.m.delegate.serving {
			l.delegates = append(l.delegates, n)
		}
	}
	l.cut = func(a, b int) bool {
		s, d := min(a, b), slices.IndexFunc(l.delegates, func(n *node) bool { return n.i == max(a, b) })
		return s < 3 && d >= 0 && l.mask&(1<<(3*d+s)) != 0
	}
	return l
}

// open reports whether a delegate has a path: a link to a supervisor that is not cut.
func (l *linked) open(d int) bool { return l.mask>>(3*d)&7 != 7 }

func (l *linked) path() bool { return l.open(0) || l.open(1) || l.open(2) }

// served returns a description of the first error, or "". If there is a path, a delegate with a
// path must be active, and every supervisor must have that delegate in its census, as current.
func (l *linked) served() string {
	a := l.active(0)
	if len(a) != 1 {
		return fmt.Sprintf("%d are active", len(a))
	}
	if d := slices.Index(l.delegates, a[0]); d >= 0 && !l.open(d) {
		return fmt.Sprintf("%s is active, without a path", a[0].id.Name())
	}
	for _, n := range l.supervisors {
		c := n.m.Census()
		if len(c) != 1 || c[0].State != Current || c[0].Delegate != a[0].id || c[0].Supervisor != a[0].m.delegate.chosen || c[0].Size != len(l.zones[0]) {
			return fmt.Sprintf("%s is active with %v, the census of %s is %+v", a[0].id.Name(), a[0].m.delegate.chosen, n.id.Name(), c)
		}
	}
	return ""
}

// state returns the state of the zone in all censuses, and an empty text if the censuses differ
// or one does not have the zone.
func (l *linked) state() (text string) {
	for i, n := range l.supervisors {
		c := n.m.Census()
		switch {
		case len(c) != 1:
			return ""
		case i > 0 && c[0].State.String() != text:
			return ""
		}
		text = c[0].State.String()
	}
	return text
}

// judge leaves the links cut for the given time, then mends them, and returns the first problem that it
// sees in that time or after the links are mended.
func (l *linked) judge(after time.Duration) string {
	begin := l.now
	for l.now-begin < after {
		l.run(100 * time.Millisecond)
		past := l.now - begin
		for _, n := range l.supervisors {
			if c := n.m.Census(); len(c) != 1 {
				return fmt.Sprintf("after %v %s has %d zones in its census", past, n.id.Name(), len(c))
			}
		}
		switch why := l.served(); {
		case l.path() && past >= takeOverBound && why != "":
			return fmt.Sprintf("after %v %s", past, why)
		case !l.path() && past >= lostBound && l.state() != "lost", !l.path() && past >= staleBound && past < lostAfter*linkTimeout && l.state() != "stale":
			return fmt.Sprintf("after %v the zone is %q", past, l.state())
		}
	}
	l.mask = 0
	l.run(2*time.Second + linkTau)
	if why := l.served(); why != "" {
		return "once links are mended " + why
	}
	return ""
}

// TestLinksCut: MS-100: any subset of the links between three delegates and three supervisors falls silent.
// If a link is left, a delegate that has one becomes active within a bound, stays registered, and the
// census is current. If no link is left, the entry becomes stale, and then lost, but never disappears (512
// subsets; a ninth of them unless ULNET_LONG is set).
func TestLinksCut(t *testing.T) {
	spec.Covers(t, "MS-100")
	step, after := effort.Of(9, 9, 1), 80*time.Second
	failed := 0
	for mask := 511; mask >= 0; mask -= step {
		l := newLinked(t, uint64(mask%4), 3+mask%3, mask)
		if why := l.judge(after); why != "" {
			if failed++; failed < 10 {
				t.Errorf("links %09b of a zone of %d: %s", mask, len(l.zones[0]), why)
			}
		}
	}
	if failed > 0 {
		t.Errorf("%d subsets failed", failed)
	}
}

// TestSupervisorTwice: supervisors that are configured several times count once. After a delegate has given
// all of them up, it soon asks each again.
func TestSupervisorTwice(t *testing.T) {
	spec.Covers(t, "MS-100")
	one, two := testID(1), testID(2)
	s := newSolo(t, 1, Config{Management: []wire.ID{one, two, one, two, one}})
	if n := s.m.Delegation().Supervisors; n != 2 {
		t.Errorf("%d supervisors", n)
	}
	asked := map[wire.ID]int{}
	for end := s.now + time.Minute; s.now < end; {
		s.now += 50 * time.Millisecond
		s.step(Input{})
		for i := range s.out.Dispatches {
			asked[s.out.Dispatches[i].To]++
		}
		if n := s.m.Delegation(); s.now > end-50*time.Second && !n.Supervisor.IsValid() {
			t.Fatalf("no supervisor is asked: %+v", n)
		}
	}
	if asked[one] < 15 || asked[two] < 15 {
		t.Errorf("%d and %d messages in a minute", asked[one], asked[two])
	}
}

// TestUnreachedSupervisor: the status of a delegate says which supervisor it does not reach,
// for how long and why; its user gets one event, and another one when the supervisor answers
// again (MS-100).
func TestUnreachedSupervisor(t *testing.T) {
	spec.Covers(t, "MS-100")
	l := newLinked(t, 1, 3, 0)
	told := map[string]int{}
	l.told = func(n *node, e *Event) {
		if e.Kind == SupervisorLost || e.Kind == SupervisorFound {
			told[fmt.Sprint(n.i, e.Kind, e.Suspect.ID.Name(), e.Trouble)]++
		}
	}
	a := l.active(0)[0]
	lost := a.m.delegate.chosen
	l.mask = 1 << (3*slices.Index(l.delegates, a) + l.byNID[lost.Endpoints()[0]].i)
	l.run(100 * time.Second)
	d := a.m.Delegation()
	if len(d.Unreached) != 1 || d.Unreached[0].Supervisor != lost || d.Unreached[0].Why != NotHeard || d.Unreached[0].Tries != 2 ||
		d.Unreached[0].For < 90*time.Second || d.Unreached[0].Last > time.Minute || !d.Answered || d.Supervisor == lost || d.CutOff {
		t.Errorf("status %+v", d)
	}
	l.mask = 0
	l.run(70 * time.Second)
	if d := a.m.Delegation(); len(d.Unreached) > 0 || d.Supervisor != lost {
		t.Errorf("status %+v", d)
	}
	gone, back := fmt.Sprint(a.i, SupervisorLost, lost.Name(), NotHeard), fmt.Sprint(a.i, SupervisorFound, lost.Name(), untroubled)
	if len(told) != 2 || told[gone] != 1 || told[back] != 1 {
		t.Errorf("told %v", told)
	}
	l.byNID[lost.Endpoints()[0]].kill()
	l.run(1200 * time.Millisecond)
	if gone = fmt.Sprint(a.i, SupervisorLost, lost.Name(), Unreachable); told[gone] != 1 {
		t.Errorf("told %v", told)
	}
}

// TestConfiguredSupervisorsDie: the zone knows the supervisors that its delegates know. If all
// configured supervisors, and then all delegates, have died, the members that become delegates
// register with other supervisors (MS-100).
func TestConfiguredSupervisorsDie(t *testing.T) {
	spec.Covers(t, "MS-100")
	for seed := range uint64(4) {
		s := newSystem(t, seed, 1, 9, 5)
		s.until(5*time.Second, s.right)
		s.run(3 * time.Second)
		s.supervisors[0].crash()
		s.supervisors[1].crash()
		s.run(20 * time.Second)
		if !s.right() {
			s.wrong("seed %d: the census is not right without the configured supervisors", seed)
		}
		for _, n := range s.zones[0] {
			if n.m.delegate.serving {
				n.kill()
			}
		}
		s.until(takeOverBound, s.right)
		late := s.zones[0][0]
		for _, n := range s.zones[0] {
			if !n.up {
				late = n
			}
		}
		late.start() // a node that joins now must learn of the supervisors, too
		s.run(5 * time.Second)
		for _, n := range s.zones[0] {
			if n.up && n != late && !n.m.delegate.serving {
				n.kill()
			}
		}
		s.run(10 * time.Second)
		for _, n := range s.zones[0] {
			if n.up && n != late {
				n.kill()
			}
		}
		s.until(takeOverBound+3*time.Second, s.right)
	}
}

// TestSupervisorWithoutHeirs: if the only supervisor of a zone dies, the other supervisors keep
// the zone's entry (MS-98, MS-100).
func TestSupervisorWithoutHeirs(t *testing.T) {
	spec.Covers(t, "MS-98", "MS-100")
	l := newLinked(t, 2, 4, 0)
	guard := l.guardian(0)
	for d := range l.delegates {
		for s := range 3 {
			if l.supervisors[s] != guard {
				l.mask |= 1 << (3*d + s)
			}
		}
	}
	guard.crash()
	for _, wait := range []struct {
		d    time.Duration
		want CensusState
	}{{8 * time.Second, Stale}, {lostBound, Lost}} {
		l.run(wait.d)
		for _, n := range l.supervisors {
			if c := n.m.Census(); n.up && (len(c) != 1 || c[0].State != wait.want || c[0].Size != 4 || c[0].Supervisor != guard.id || c[0].Age > wait.d+5*time.Second) {
				t.Fatalf("%+v, want %v", c, wait.want)
			}
		}
	}
	l.mask = 0
	l.run(takeOverBound)
	for _, n := range l.supervisors {
		if c := n.m.Census(); n.up && (len(c) != 1 || c[0].State != Current) {
			t.Errorf("%+v once links are mended", c)
		}
	}
	for _, n := range l.zones[0] {
		n.step(Input{Kind: Leave})
	}
	l.run(time.Second)
	for _, n := range l.supervisors {
		if c := n.m.Census(); n.up && len(c) != 0 {
			t.Errorf("%+v after a goodbye", c)
		}
	}
}

// TestGuardedBoundOfZones: if the census has no room for another zone, a supervisor refuses the
// zone and reports that. All zones that fit are in the census (MS-98).
func TestGuardedBoundOfZones(t *testing.T) {
	spec.Covers(t, "MS-98")
	s := newSolo(t, 1, Config{Supervisor: true, MaxAttributes: 64 << 10})
	told, refused := 0, 0
	const zones = 500
	name := strings.Repeat("long", 40)
	for i := range zones {
		s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{
			Kind: wire.Register, Zone: fmt.Sprint(name, i), From: testID(i + 1), Version: v(3, 1), Activation: 1, Registration: 1, Size: 1,
		}})
		for k := range s.out.Dispatches {
			if s.out.Dispatches[k].Dispatch.Flags&wire.NoRoom != 0 {
				refused++
			}
		}
		for k := range s.out.Events {
			if e := &s.out.Events[k]; e.Kind == ZoneRefused {
				told++
			} else if e.Kind == Refused {
				t.Fatalf("zone %d is not written", i)
			}
		}
	}
	if n := len(s.m.Census()); n+refused != zones || n < 200 || refused == 0 || told != 1 || s.m.stats.TooManyZones != uint64(refused) {
		t.Errorf("%d zones in the census, %d refused, told %d times", n, refused, told)
	}
	n := len(s.m.Census())
	pass := func(d time.Duration) {
		for end := s.now + d; s.now < end; {
			s.now += 500 * time.Millisecond
			s.step(Input{})
		}
	}
	pass(10 * time.Second) // all entries are stale, which makes them longer
	if c := s.m.Census(); len(c) != n || c[0].State != Stale || c[n-1].State != Stale {
		t.Errorf("%d zones are stale of %d", len(c), n)
	}
	pass(lostBound)
	s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{
		Kind: wire.Register, Zone: "new", From: testID(1), Version: v(3, 1), Activation: 1, Registration: 1, Size: 1,
	}})
	if g := s.m.supervisor.zones["new"]; g == nil || g.published.State != Current {
		t.Error("zones that are lost leave no room for one that lives")
	}
}

// TestOlderCensusEntries: entries without a state, which older versions write, are current;
// bytes after the known fields are ignored.
func TestOlderCensusEntries(t *testing.T) {
	e := CensusEntry{Zone: "z", Activation: 1, Registration: 2, Delegates: 3, Delegate: testID(1), Version: v(1, 1), Size: 4}
	b := e.appendBinary(nil)
	if got, ok := parseCensus("z", b); !ok || got != e {
		t.Errorf("%+v", got)
	}
	e.State, e.Age = Stale, 1500*time.Millisecond
	b = e.appendBinary(nil)
	if got, ok := parseCensus("z", append(b, "more"...)); !ok || got != e {
		t.Errorf("%+v", got)
	}
	b[len(b)-staleSize] = 200
	if got, ok := parseCensus("z", b); !ok || got.State != Lost {
		t.Errorf("%+v", got)
	}
	if _, ok := parseCensus("z", b[:len(b)-1]); ok {
		t.Error("an entry that is cut short is understood")
	}
}

// TestPublishedSupervisors: the size of the published list of supervisors is bounded, and
// invalid ids in it are ignored.
func TestPublishedSupervisors(t *testing.T) {
	s := newSolo(t, 1, Config{Management: []wire.ID{testID(1)}})
	var words []string
	for i := range 90 {
		words = append(words, testID(i).String(), "nonsense", "a=b=c")
	}
	d := s.m.delegate
	d.learn([]byte(strings.Join(words, " ")))
	if len(d.learned) != maxPublished {
		t.Errorf("%d supervisors", len(d.learned))
	}
	if d.learn([]byte("nonsense")); len(d.learned) != maxPublished {
		t.Errorf("%d supervisors after nonsense", len(d.learned))
	}
}
