package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
)

// fakeZone answers what it is asked with itself, and notes it.
type fakeZone struct {
	said []string
	err  error
}

var (
	zoneOne    = zone.MustParseID("one=10.0.0.1@tcp")
	zoneStatus = zone.Status{Status: engine.Status{State: "joined", Members: 3, Version: zone.Version{Inc: 7, Minor: 1}, Hash: 1 << 63}, Zone: "z", Self: zoneOne}
	zoneEvents = node.ZoneEvents{Next: 9, Events: []node.ZoneEvent{{Number: 8, Time: time.Unix(5, 6).UTC(), Event: zone.Event{
		Kind: zone.Left, Cause: zone.Said, ID: zoneOne, Version: zone.Version{Inc: 7, Minor: 2}, Code: -3,
	}}}}
	zoneMembers = []node.ZoneMember{
		{MemberStatus: zone.MemberStatus{ID: zoneOne, Self: true}, State: "member"},
		{MemberStatus: zone.MemberStatus{ID: zoneOne}, State: "dead", Gone: &node.ZoneGone{Time: time.Unix(7, 0).UTC(), Cause: zone.Dead, By: []zone.Witness{{ID: zoneOne}}}},
	}
	zoneTopology = node.ZoneTopology{Self: zoneOne, Successors: 2, Ring: []zone.ID{zoneOne}, Links: []zone.LinkStatus{{ID: zoneOne, State: "up", Random: true}}}
)

func (f *fakeZone) ZoneStatus() (zone.Status, error) { return zoneStatus, f.err }
func (f *fakeZone) ZoneMembers(filter node.ZoneFilter) ([]node.ZoneMember, error) {
	f.said = append(f.said, fmt.Sprintf("members %q %q", filter.State, filter.Tags))
	return zoneMembers, f.err
}

func (f *fakeZone) ZoneSuspicions() ([]zone.SuspicionStatus, error) {
	return []zone.SuspicionStatus{{Suspect: zoneOne, Needed: 2}}, f.err
}

func (f *fakeZone) ZoneCensus() ([]zone.CensusEntry, error) {
	return []zone.CensusEntry{{Zone: "base", Size: 5}}, f.err
}
func (f *fakeZone) ZoneTopology() (node.ZoneTopology, error) { return zoneTopology, f.err }

func (f *fakeZone) ZoneEvents(from uint64) (node.ZoneEvents, error) {
	f.said = append(f.said, fmt.Sprint("from ", from))
	return zoneEvents, f.err
}

func (f *fakeZone) ZoneOf(_ context.Context, name string) ([]zone.Named, error) {
	f.said = append(f.said, "of "+name)
	return []zone.Named{{ID: zoneOne}}, f.err
}

func (f *fakeZone) ZoneAttributes(n string) (node.ZoneAttributes, error) {
	f.said = append(f.said, "attributes "+n)
	return node.ZoneAttributes{ID: zoneOne, Attributes: []node.ZoneAttribute{{Key: "k", Value: []byte{0, 255}, U: 1}}}, f.err
}

func (f *fakeZone) ZoneExplain(n string) (zone.Explanation, error) {
	f.said = append(f.said, "explain "+n)
	return zone.Explanation{ID: zoneOne, State: "gone", Gone: &zone.GoneStatus{ID: zoneOne, Orderly: true}}, f.err
}

func (f *fakeZone) ZoneWrite(w node.ZoneWrite) error {
	f.said = append(f.said, fmt.Sprintf("write %s %q %v", w.Key, w.Value, w.Delete))
	return f.err
}

func (f *fakeZone) ZoneJoin() error {
	f.said = append(f.said, "join")
	return f.err
}

func (f *fakeZone) ZoneRemove(r node.ZoneNode) error {
	f.said = append(f.said, "remove "+r.Node)
	return f.err
}

func (f *fakeZone) ZoneLeave(g node.ZoneGoodbye) error {
	f.said = append(f.said, fmt.Sprint("leave ", g.Code))
	return f.err
}

func (f *fakeZone) routes() []Route {
	return []Route{
		node.OpZoneStatus.Do(Ask(f.ZoneStatus)), node.OpZoneMembers.Do(Quick(f.ZoneMembers)), node.OpZoneSuspicions.Do(Ask(f.ZoneSuspicions)),
		node.OpZoneCensus.Do(Ask(f.ZoneCensus)), node.OpZoneTopology.Do(Ask(f.ZoneTopology)),
		node.OpZoneEvents.Do(Quick(func(r node.ZoneEventsFrom) (node.ZoneEvents, error) { return f.ZoneEvents(r.From) })),
		node.OpZoneOf.Do(func(ctx context.Context, r node.ZoneName) ([]zone.Named, error) { return f.ZoneOf(ctx, r.Zone) }),
		node.OpZoneAttributes.Do(Quick(func(r node.ZoneNode) (node.ZoneAttributes, error) { return f.ZoneAttributes(r.Node) })),
		node.OpZoneExplain.Do(Quick(func(r node.ZoneNode) (zone.Explanation, error) { return f.ZoneExplain(r.Node) })),
		node.OpZoneWrite.Do(Act(f.ZoneWrite)), node.OpZoneJoin.Do(Just(f.ZoneJoin)), node.OpZoneRemove.Do(Act(f.ZoneRemove)), node.OpZoneLeave.Do(Act(f.ZoneLeave)),
	}
}

func TestZone(t *testing.T) {
	f := &fakeZone{}
	d := serve(t, Config{Routes: f.routes()})
	c := NewClient(d.path)
	is := cmp.Comparer(func(a, b zone.ID) bool { return a == b })
	check := func(what string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got, is); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	status, err := node.OpZoneStatus.Call(t.Context(), c, None{})
	check("status", zoneStatus, status, err)
	members, err := node.OpZoneMembers.Call(t.Context(), c, node.ZoneFilter{State: "left|dead", Tags: []string{"a=b&c", "d"}})
	check("members", zoneMembers, members, err)
	_, err = node.OpZoneMembers.Call(t.Context(), c, node.ZoneFilter{})
	check("members", nil, nil, err)
	suspicions, err := node.OpZoneSuspicions.Call(t.Context(), c, None{})
	check("suspicions", []zone.SuspicionStatus{{Suspect: zoneOne, Needed: 2}}, suspicions, err)
	census, err := node.OpZoneCensus.Call(t.Context(), c, None{})
	check("census", []zone.CensusEntry{{Zone: "base", Size: 5}}, census, err)
	topology, err := node.OpZoneTopology.Call(t.Context(), c, None{})
	check("topology", zoneTopology, topology, err)
	events, err := node.OpZoneEvents.Call(t.Context(), c, node.ZoneEventsFrom{From: 8})
	check("events", zoneEvents, events, err)
	of, err := node.OpZoneOf.Call(t.Context(), c, node.ZoneName{Zone: "a&b"})
	check("of", []zone.Named{{ID: zoneOne}}, of, err)
	attributes, err := node.OpZoneAttributes.Call(t.Context(), c, node.ZoneNode{Node: "one=10.0.0.1@tcp"})
	check("attributes", []node.ZoneAttribute{{Key: "k", Value: []byte{0, 255}, U: 1}}, attributes.Attributes, err)
	explained, err := node.OpZoneExplain.Call(t.Context(), c, node.ZoneNode{Node: "one"})
	check("explain", "gone", explained.State, err)
	err = errors.Join(node.OpZoneWrite.Call(t.Context(), c, node.ZoneWrite{Key: "k", Value: []byte("v")}), node.OpZoneWrite.Call(t.Context(), c, node.ZoneWrite{Key: "k", Delete: true}),
		node.OpZoneLeave.Call(t.Context(), c, node.ZoneGoodbye{Code: -3}), node.OpZoneJoin.Call(t.Context(), c, None{}), node.OpZoneRemove.Call(t.Context(), c, node.ZoneNode{Node: "two"}))
	check("said", []string{`members "left|dead" ["a=b&c" "d"]`, `members "" []`, "from 8", "of a&b", "attributes one=10.0.0.1@tcp", "explain one", `write k "v" false`, `write k "" true`, "leave -3", "join", "remove two"}, f.said, err)

	f.err = cli.Hint(syscall.ESRCH, "join")
	if _, err := node.OpZoneStatus.Call(t.Context(), c, None{}); !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "join" {
		t.Errorf("%v, hint %q", err, cli.HintOf(err))
	}
	if answer := d.talk(t, "GET /v1/zone/events?from=x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
		t.Errorf("events from x: %s", answer)
	}
}
