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
	zonemod "ulnet/cmd/internal/modules/zone"
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
	zoneEvents = zonemod.ZoneEvents{Next: 9, Events: []zonemod.ZoneEvent{{Number: 8, Time: time.Unix(5, 6).UTC(), Event: zone.Event{
		Kind: zone.Left, Cause: zone.Said, ID: zoneOne, Version: zone.Version{Inc: 7, Minor: 2}, Code: -3,
	}}}}
	zoneMembers = []zonemod.ZoneMember{
		{MemberStatus: zone.MemberStatus{ID: zoneOne, Self: true}, State: "member"},
		{MemberStatus: zone.MemberStatus{ID: zoneOne}, State: "dead", Gone: &zonemod.ZoneGone{Time: time.Unix(7, 0).UTC(), Cause: zone.Dead, By: []zone.Witness{{ID: zoneOne}}}},
	}
	zoneTopology = zonemod.ZoneTopology{Self: zoneOne, Successors: 2, Ring: []zone.ID{zoneOne}, Links: []zone.LinkStatus{{ID: zoneOne, State: "up", Random: true}}}
)

func (f *fakeZone) ZoneStatus() (zone.Status, error) { return zoneStatus, f.err }
func (f *fakeZone) ZoneMembers(filter zonemod.ZoneFilter) ([]zonemod.ZoneMember, error) {
	f.said = append(f.said, fmt.Sprintf("members %q %q", filter.State, filter.Tags))
	return zoneMembers, f.err
}

func (f *fakeZone) ZoneSuspicions() ([]zone.SuspicionStatus, error) {
	return []zone.SuspicionStatus{{Suspect: zoneOne, Needed: 2}}, f.err
}

func (f *fakeZone) ZoneCensus() ([]zone.CensusEntry, error) {
	return []zone.CensusEntry{{Zone: "base", Size: 5}}, f.err
}
func (f *fakeZone) ZoneTopology() (zonemod.ZoneTopology, error) { return zoneTopology, f.err }

func (f *fakeZone) ZoneEvents(from uint64) (zonemod.ZoneEvents, error) {
	f.said = append(f.said, fmt.Sprint("from ", from))
	return zoneEvents, f.err
}

func (f *fakeZone) ZoneOf(_ context.Context, name string) ([]zone.Named, error) {
	f.said = append(f.said, "of "+name)
	return []zone.Named{{ID: zoneOne}}, f.err
}

func (f *fakeZone) ZoneAttributes(n string) (zonemod.ZoneAttributes, error) {
	f.said = append(f.said, "attributes "+n)
	return zonemod.ZoneAttributes{ID: zoneOne, Attributes: []zonemod.ZoneAttribute{{Key: "k", Value: []byte{0, 255}, U: 1}}}, f.err
}

func (f *fakeZone) ZoneExplain(n string) (zone.Explanation, error) {
	f.said = append(f.said, "explain "+n)
	return zone.Explanation{ID: zoneOne, State: "gone", Gone: &zone.GoneStatus{ID: zoneOne, Orderly: true}}, f.err
}

func (f *fakeZone) ZoneWrite(w zonemod.ZoneWrite) error {
	f.said = append(f.said, fmt.Sprintf("write %s %q %v", w.Key, w.Value, w.Delete))
	return f.err
}

func (f *fakeZone) ZoneJoin() error {
	f.said = append(f.said, "join")
	return f.err
}

func (f *fakeZone) ZoneRemove(r zonemod.ZoneNode) error {
	f.said = append(f.said, "remove "+r.Node)
	return f.err
}

func (f *fakeZone) ZoneLeave(g zonemod.ZoneGoodbye) error {
	f.said = append(f.said, fmt.Sprint("leave ", g.Code))
	return f.err
}

func (f *fakeZone) routes() []Route {
	return []Route{
		zonemod.OpZoneStatus.Do(Ask(f.ZoneStatus)), zonemod.OpZoneMembers.Do(Quick(f.ZoneMembers)), zonemod.OpZoneSuspicions.Do(Ask(f.ZoneSuspicions)),
		zonemod.OpZoneCensus.Do(Ask(f.ZoneCensus)), zonemod.OpZoneTopology.Do(Ask(f.ZoneTopology)),
		zonemod.OpZoneEvents.Do(Quick(func(r zonemod.ZoneEventsFrom) (zonemod.ZoneEvents, error) { return f.ZoneEvents(r.From) })),
		zonemod.OpZoneOf.Do(func(ctx context.Context, r zonemod.ZoneName) ([]zone.Named, error) { return f.ZoneOf(ctx, r.Zone) }),
		zonemod.OpZoneAttributes.Do(Quick(func(r zonemod.ZoneNode) (zonemod.ZoneAttributes, error) { return f.ZoneAttributes(r.Node) })),
		zonemod.OpZoneExplain.Do(Quick(func(r zonemod.ZoneNode) (zone.Explanation, error) { return f.ZoneExplain(r.Node) })),
		zonemod.OpZoneWrite.Do(Act(f.ZoneWrite)), zonemod.OpZoneJoin.Do(Just(f.ZoneJoin)), zonemod.OpZoneRemove.Do(Act(f.ZoneRemove)), zonemod.OpZoneLeave.Do(Act(f.ZoneLeave)),
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
	status, err := zonemod.OpZoneStatus.Call(t.Context(), c, None{})
	check("status", zoneStatus, status, err)
	members, err := zonemod.OpZoneMembers.Call(t.Context(), c, zonemod.ZoneFilter{State: "left|dead", Tags: []string{"a=b&c", "d"}})
	check("members", zoneMembers, members, err)
	_, err = zonemod.OpZoneMembers.Call(t.Context(), c, zonemod.ZoneFilter{})
	check("members", nil, nil, err)
	suspicions, err := zonemod.OpZoneSuspicions.Call(t.Context(), c, None{})
	check("suspicions", []zone.SuspicionStatus{{Suspect: zoneOne, Needed: 2}}, suspicions, err)
	census, err := zonemod.OpZoneCensus.Call(t.Context(), c, None{})
	check("census", []zone.CensusEntry{{Zone: "base", Size: 5}}, census, err)
	topology, err := zonemod.OpZoneTopology.Call(t.Context(), c, None{})
	check("topology", zoneTopology, topology, err)
	events, err := zonemod.OpZoneEvents.Call(t.Context(), c, zonemod.ZoneEventsFrom{From: 8})
	check("events", zoneEvents, events, err)
	of, err := zonemod.OpZoneOf.Call(t.Context(), c, zonemod.ZoneName{Zone: "a&b"})
	check("of", []zone.Named{{ID: zoneOne}}, of, err)
	attributes, err := zonemod.OpZoneAttributes.Call(t.Context(), c, zonemod.ZoneNode{Node: "one=10.0.0.1@tcp"})
	check("attributes", []zonemod.ZoneAttribute{{Key: "k", Value: []byte{0, 255}, U: 1}}, attributes.Attributes, err)
	explained, err := zonemod.OpZoneExplain.Call(t.Context(), c, zonemod.ZoneNode{Node: "one"})
	check("explain", "gone", explained.State, err)
	err = errors.Join(zonemod.OpZoneWrite.Call(t.Context(), c, zonemod.ZoneWrite{Key: "k", Value: []byte("v")}), zonemod.OpZoneWrite.Call(t.Context(), c, zonemod.ZoneWrite{Key: "k", Delete: true}),
		zonemod.OpZoneLeave.Call(t.Context(), c, zonemod.ZoneGoodbye{Code: -3}), zonemod.OpZoneJoin.Call(t.Context(), c, None{}), zonemod.OpZoneRemove.Call(t.Context(), c, zonemod.ZoneNode{Node: "two"}))
	check("said", []string{`members "left|dead" ["a=b&c" "d"]`, `members "" []`, "from 8", "of a&b", "attributes one=10.0.0.1@tcp", "explain one", `write k "v" false`, `write k "" true`, "leave -3", "join", "remove two"}, f.said, err)

	f.err = cli.Hint(syscall.ESRCH, "join")
	if _, err := zonemod.OpZoneStatus.Call(t.Context(), c, None{}); !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "join" {
		t.Errorf("%v, hint %q", err, cli.HintOf(err))
	}
	if answer := d.talk(t, "GET /v1/zone/events?from=x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
		t.Errorf("events from x: %s", answer)
	}
}
