package page

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// looks are looks at a node that tests describe.
type looks struct{ changes }

// at makes one look that finds these subjects, and returns a text with the name and the subject of each
// event.
func (l *looks) at(seen map[subject]condition, kinds ...kind) (list []string) {
	l.begin(time.Unix(int64(l.round), 0))
	var order []subject
	for s := range seen {
		order = append(order, s)
	}
	slices.SortFunc(order, func(a, b subject) int { return a.nid.Compare(b.nid) })
	for _, s := range order {
		l.see(s, seen[s])
	}
	for _, e := range l.end(kinds...) {
		list = append(list, e.Event+" "+e.About)
	}
	return list
}

// TestChanges: the first look at the node yields no events. Later looks yield an event for each NI,
// route or peer that is new or gone, or that has changed between up and down or well and unwell.
func TestChanges(t *testing.T) {
	spec.Covers(t, "OP-69")
	id := func(i int) nid.NID { return nid.MustParse(fmt.Sprintf("10.0.0.%d@tcp", i)) }
	ni, route := subject{kind: anNI, nid: id(1)}, subject{kind: aRoute, nid: id(2), net: "tcp9"}
	peer, other := subject{kind: aPeer, nid: id(3), via: id(1)}, subject{kind: aPeer, nid: id(4), via: id(1)}
	all := []kind{anNI, aRoute, aPeer}
	var l looks
	for i, c := range []struct {
		seen  map[subject]condition
		kinds []kind
		want  []string
	}{
		{map[subject]condition{ni: {}, route: {down: true}, peer: {unwell: true}}, all, nil},
		{map[subject]condition{ni: {}, route: {down: true}, peer: {unwell: true}}, all, nil},
		{
			map[subject]condition{ni: {down: true, cause: "no carrier"}, route: {}, peer: {}, other: {down: true, unwell: true, cause: "timed out"}},
			all,
			[]string{"ni.down 10.0.0.1@tcp: no carrier", "route.up tcp9 by 10.0.0.2@tcp", "peer.well 10.0.0.3@tcp via 10.0.0.1@tcp", "peer.new 10.0.0.4@tcp via 10.0.0.1@tcp", "peer.down 10.0.0.4@tcp via 10.0.0.1@tcp: timed out", "peer.unwell 10.0.0.4@tcp via 10.0.0.1@tcp"},
		},
		{map[subject]condition{ni: {}, other: {down: true, unwell: true}}, all, []string{"ni.up 10.0.0.1@tcp", "peer.gone 10.0.0.3@tcp via 10.0.0.1@tcp", "route.gone tcp9 by 10.0.0.2@tcp"}},
		{map[subject]condition{ni: {}}, all[:2], nil},       // this look leaves out peers, as Watch does when there are too many: none counts as gone
		{map[subject]condition{ni: {}, peer: {}}, all, nil}, // this look has peers again: it yields no events of peers, because the previous one had none
		{map[subject]condition{ni: {}}, all, []string{"peer.gone 10.0.0.3@tcp via 10.0.0.1@tcp"}},
		{map[subject]condition{}, all, []string{"ni.gone 10.0.0.1@tcp"}},
	} {
		if got := l.at(c.seen, c.kinds...); !slices.Equal(got, c.want) {
			t.Errorf("look %d: %q, want %q", i, got, c.want)
		}
	}
	if len(l.known) != 0 {
		t.Errorf("%d subjects are remembered", len(l.known))
	}
}

// TestManyChanges: a look at thousands of changes has a bounded number of events, the last of which
// says how many are left out. Events of protocols stay, however many changes there are.
func TestManyChanges(t *testing.T) {
	spec.Covers(t, "OP-65", "OP-69")
	var l looks
	var r Recent
	r.Tell("gossip.died", nil)
	l.at(nil, aPeer)
	for round := range 4 * maxEvents / maxChanges { // yields four times as many events as Recent keeps
		many := map[subject]condition{}
		for i := range 1000 * (1 - round%2) {
			many[subject{kind: aPeer, nid: nid.MustParse(fmt.Sprintf("10.%d.%d.1@tcp", i/250, i%250))}] = condition{down: true}
		}
		l.at(many, aPeer)
		want := fmt.Sprintf("%d further changes of NIs, routes and peers", 2000/(1+round%2)-maxChanges)
		if n := len(l.events); n != maxChanges+1 || l.events[n-1].Event != "changes.more" || l.events[n-1].About != want {
			t.Fatalf("round %d: %d events, the last is %+v, want %s", round, n, l.events[n-1], want)
		}
		r.changed(l.events)
	}
	list := r.list()
	if len(list) != maxEvents+1 || cap(r.changes) > 3*maxEvents || !slices.ContainsFunc(list, func(e Event) bool { return e.Event == "gossip.died" }) {
		t.Errorf("%d events of %d kept", len(list), cap(r.changes))
	}
}

// TestWatchNode: the watch looks at the node in intervals until it is stopped. If the node is stuck,
// the call that stops the watch returns when its context ends.
func TestWatchNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Recent
		n, stuck := 0, make(chan bool)
		stop := r.watch(func(*changes) []Event {
			if n++; n == 4 {
				<-stuck
			}
			return []Event{{Event: fmt.Sprint("look ", n)}}
		}, WatchInterval)
		time.Sleep(2*WatchInterval + WatchInterval/2)
		if list := r.list(); len(list) != 3 {
			t.Errorf("events %+v", list)
		}
		time.Sleep(WatchInterval)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if stop(ctx); ctx.Err() == nil {
			t.Error("the watch has ended in the middle of a look")
		}
		close(stuck)
		synctest.Wait()
		time.Sleep(time.Hour)
		if n != 4 {
			t.Errorf("%d looks", n)
		}
	})
}
