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

// fakeZone has a fixed answer for each operation. The field said has the contents of the requests so far.
type fakeZone struct {
	said []string
	err  error
}

var (
	zoneOne    = zone.MustParseID("one=10.0.0.1@tcp")
	zoneStatus = zone.Status{Status: engine.Status{State: "joined", Members: 3, Version: zone.Version{Inc: 7, Minor: 1}, Hash: 1 << 63}, Zone: "z", Self: zoneOne}
	zoneEvents = zonemod.Events{Next: 9, Events: []zonemod.Event{{Number: 8, Time: time.Unix(5, 6).UTC(), Event: zone.Event{
		Kind: zone.Left, Cause: zone.Said, ID: zoneOne, Version: zone.Version{Inc: 7, Minor: 2}, Code: -3,
	}}}}
	zoneMembers = []zonemod.Member{
		{MemberStatus: zone.MemberStatus{ID: zoneOne, Self: true}, State: "member"},
		{MemberStatus: zone.MemberStatus{ID: zoneOne}, State: "dead", Gone: &zonemod.Gone{Time: time.Unix(7, 0).UTC(), Cause: zone.Dead, By: []zone.Witness{{ID: zoneOne}}}},
	}
	zoneTopology = zonemod.Topology{Self: zoneOne, Successors: 2, Ring: []zone.ID{zoneOne}, Links: []zone.LinkStatus{{ID: zoneOne, State: "up", Random: true}}}
)

func (f *fakeZone) ZoneStatus() (zone.Status, error) { return zoneStatus, f.err }
func (f *fakeZone) ZoneMembers(filter zonemod.MemberFilter) ([]zonemod.Member, error) {
	f.said = append(f.said, fmt.Sprintf("members %q %q", filter.State, filter.Tags))
	return zoneMembers, f.err
}

func (f *fakeZone) ZoneSuspicions() ([]zone.SuspicionStatus, error) {
	return []zone.SuspicionStatus{{Suspect: zoneOne, Needed: 2}}, f.err
}

func (f *fakeZone) ZoneCensus() ([]zone.CensusEntry, error) {
	return []zone.CensusEntry{{Zone: "base", Size: 5}}, f.err
}
func (f *fakeZone) ZoneTopology() (zonemod.Topology, error) { return zoneTopology, f.err }

func (f *fakeZone) ZoneEvents(from uint64) (zonemod.Events, error) {
	f.said = append(f.said, fmt.Sprint("from ", from))
	return zoneEvents, f.err
}

func (f *fakeZone) ZoneOf(_ context.Context, name string) ([]zone.Named, error) {
	f.said = append(f.said, "of "+name)
	return []zone.Named{{ID: zoneOne}}, f.err
}

func (f *fakeZone) ZoneAttributes(n string) (zonemod.NodeAttributes, error) {
	f.said = append(f.said, "attributes "+n)
	return zonemod.NodeAttributes{ID: zoneOne, Attributes: []zonemod.Attribute{{Key: "k", Value: []byte{0, 255}, U: 1}}}, f.err
}

func (f *fakeZone) ZoneExplain(n string) (zone.Explanation, error) {
	f.said = append(f.said, "explain "+n)
	return zone.Explanation{ID: zoneOne, State: "gone", Gone: &zone.GoneStatus{ID: zoneOne, Orderly: true}}, f.err
}

func (f *fakeZone) ZoneWrite(w zonemod.WriteRequest) error {
	f.said = append(f.said, fmt.Sprintf("write %s %q %v", w.Key, w.Value, w.Delete))
	return f.err
}

func (f *fakeZone) ZoneJoin() error {
	f.said = append(f.said, "join")
	return f.err
}

func (f *fakeZone) ZoneRemove(r zonemod.NodeName) error {
	f.said = append(f.said, "remove "+r.Node)
	return f.err
}

func (f *fakeZone) ZoneLeave(g zonemod.LeaveRequest) error {
	f.said = append(f.said, fmt.Sprint("leave ", g.Code))
	return f.err
}

func (f *fakeZone) routes() []Route {
	return []Route{
		zonemod.OpStatus.Do(Ask(f.ZoneStatus)), zonemod.OpMembers.Do(Quick(f.ZoneMembers)), zonemod.OpSuspicions.Do(Ask(f.ZoneSuspicions)),
		zonemod.OpCensus.Do(Ask(f.ZoneCensus)), zonemod.OpTopology.Do(Ask(f.ZoneTopology)),
		zonemod.OpEvents.Do(Quick(func(r zonemod.EventsFrom) (zonemod.Events, error) { return f.ZoneEvents(r.From) })),
		zonemod.OpZone.Do(func(ctx context.Context, r zonemod.BaseZone) ([]zone.Named, error) { return f.ZoneOf(ctx, r.Zone) }),
		zonemod.OpAttributes.Do(Quick(func(r zonemod.NodeName) (zonemod.NodeAttributes, error) { return f.ZoneAttributes(r.Node) })),
		zonemod.OpExplain.Do(Quick(func(r zonemod.NodeName) (zone.Explanation, error) { return f.ZoneExplain(r.Node) })),
		zonemod.OpWrite.Do(Act(f.ZoneWrite)), zonemod.OpJoin.Do(Just(f.ZoneJoin)), zonemod.OpRemove.Do(Act(f.ZoneRemove)), zonemod.OpLeave.Do(Act(f.ZoneLeave)),
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
	status, err := zonemod.OpStatus.Call(t.Context(), c, None{})
	check("status", zoneStatus, status, err)
	members, err := zonemod.OpMembers.Call(t.Context(), c, zonemod.MemberFilter{State: "left|dead", Tags: []string{"a=b&c", "d"}})
	check("members", zoneMembers, members, err)
	_, err = zonemod.OpMembers.Call(t.Context(), c, zonemod.MemberFilter{})
	check("members", nil, nil, err)
	suspicions, err := zonemod.OpSuspicions.Call(t.Context(), c, None{})
	check("suspicions", []zone.SuspicionStatus{{Suspect: zoneOne, Needed: 2}}, suspicions, err)
	census, err := zonemod.OpCensus.Call(t.Context(), c, None{})
	check("census", []zone.CensusEntry{{Zone: "base", Size: 5}}, census, err)
	topology, err := zonemod.OpTopology.Call(t.Context(), c, None{})
	check("topology", zoneTopology, topology, err)
	events, err := zonemod.OpEvents.Call(t.Context(), c, zonemod.EventsFrom{From: 8})
	check("events", zoneEvents, events, err)
	of, err := zonemod.OpZone.Call(t.Context(), c, zonemod.BaseZone{Zone: "a&b"})
	check("of", []zone.Named{{ID: zoneOne}}, of, err)
	attributes, err := zonemod.OpAttributes.Call(t.Context(), c, zonemod.NodeName{Node: "one=10.0.0.1@tcp"})
	check("attributes", []zonemod.Attribute{{Key: "k", Value: []byte{0, 255}, U: 1}}, attributes.Attributes, err)
	explained, err := zonemod.OpExplain.Call(t.Context(), c, zonemod.NodeName{Node: "one"})
	check("explain", "gone", explained.State, err)
	err = errors.Join(zonemod.OpWrite.Call(t.Context(), c, zonemod.WriteRequest{Key: "k", Value: []byte("v")}), zonemod.OpWrite.Call(t.Context(), c, zonemod.WriteRequest{Key: "k", Delete: true}),
		zonemod.OpLeave.Call(t.Context(), c, zonemod.LeaveRequest{Code: -3}), zonemod.OpJoin.Call(t.Context(), c, None{}), zonemod.OpRemove.Call(t.Context(), c, zonemod.NodeName{Node: "two"}))
	check("said", []string{`members "left|dead" ["a=b&c" "d"]`, `members "" []`, "from 8", "of a&b", "attributes one=10.0.0.1@tcp", "explain one", `write k "v" false`, `write k "" true`, "leave -3", "join", "remove two"}, f.said, err)

	f.err = cli.Hint(syscall.ESRCH, "join")
	if _, err := zonemod.OpStatus.Call(t.Context(), c, None{}); !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "join" {
		t.Errorf("%v, hint %q", err, cli.HintOf(err))
	}
	if answer := d.talk(t, "GET /v1/zone/events?from=x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
		t.Errorf("events from x: %s", answer)
	}
}
