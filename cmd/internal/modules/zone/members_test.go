package zone

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/gossip/zone"
	"ulnet/gossip/zone/wire"
)

// TestZoneFilter: an expression must match the whole of a state or value, and all tags must be
// present. A filter that cannot match any node is refused.
func TestZoneFilter(t *testing.T) {
	tags := []zone.Attribute{{Key: "role", Value: []byte("mds")}, {Key: "text", Value: []byte("two\nlines")}, {Key: "raw", Value: []byte{0xff, 0}}, {Key: "empty"}}
	for _, test := range []struct {
		state string
		tags  []string
		want  bool // whether the filter selects a member, in the state "member" and with the attributes in tags above
	}{
		{"", nil, true},
		{"member", nil, true},
		{"left|member", nil, true},
		{"m", []string{"role"}, false}, // "m" matches no state as a whole
		{"le.t|dead", nil, false},
		{"", []string{"role"}, true},
		{"", []string{"role=mds", "text=two.*", "empty="}, true},
		{"", []string{"role=md"}, false},
		{"", []string{"role=ds|md"}, false},
		{"", []string{"role=mds", "none"}, false},
		{"", []string{"raw=.."}, true},
		{"", []string{"empty=."}, false},
		{"", []string{""}, false},
	} {
		f := MemberFilter{test.state, test.tags}
		m, err := f.matcher()
		if err != nil && test.state != "m" {
			t.Fatalf("%+v: %v", f, err)
		}
		if got := err == nil && m.hasState("member") && m.hasTags(tags); got != test.want {
			t.Errorf("%+v: %v", f, got)
		}
		if len(test.tags) > 0 && err == nil && m.hasTags(nil) {
			t.Errorf("%+v is true of a node without attributes", f)
		}
	}
	for _, f := range []MemberFilter{
		{State: "alive"},
		{State: "("},
		{State: "member)|(left"},
		{Tags: []string{"a=b", "c=["}},
		{Tags: []string{"a=" + strings.Repeat("b", maxExpression+1)}},
	} {
		if _, err := f.matcher(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if _, err := (&MemberFilter{State: "alive"}).matcher(); !strings.Contains(cli.HintOf(err), "member, suspected, left") {
		t.Errorf("hint %q", cli.HintOf(err))
	}
}

// TestGoneMember: the state of a former member depends on why it ceased to be one.
func TestGoneMember(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, test := range []struct {
		gone zone.GoneStatus
		want string
	}{
		{zone.GoneStatus{Cause: zone.Said, Code: -3}, "left"},
		{zone.GoneStatus{Cause: zone.Said, Code: zone.CodeRemoved}, "removed"},
		{zone.GoneStatus{Cause: zone.Dead}, "dead"},
		{zone.GoneStatus{Cause: zone.Corrected}, "dead"},
	} {
		test.gone.Ago = 7 * time.Second
		if m := goneMember(&test.gone, now); m.State != test.want || !m.Gone.Time.Equal(time.Unix(993, 0)) || m.Gone.Cause != test.gone.Cause || m.Gone.Code != test.gone.Code {
			t.Errorf("%+v is %+v, %+v", test.gone, m, m.Gone)
		}
	}
}

// TestKeptEvents: the number of stored events is bounded, and so is the number of keys that they
// name.
func TestKeptEvents(t *testing.T) {
	z := zoner{next: 1}
	few, many := make([]string, 10), make([]string, wire.MaxTableKeys)
	most := 0
	for i := range 20_000 {
		keys := few
		if i%3 == 0 {
			keys = many
		}
		z.happened(zone.Event{Kind: zone.AttributesChanged, Keys: keys})
		named := 0
		for _, e := range z.events {
			named += len(e.Keys)
		}
		if most = max(most, named); named != z.keys || len(z.events) > 2*keptEvents {
			t.Fatalf("%d events name %d keys, counted %d", len(z.events), named, z.keys)
		}
	}
	if most > 2*keptKeys {
		t.Errorf("%d keys are kept", most)
	}
	for range 3 * keptEvents {
		z.happened(zone.Event{Kind: zone.Joined})
	}
	if n := len(z.events); n < keptEvents || n > 2*keptEvents || z.keys != 0 {
		t.Errorf("%d events, %d keys", n, z.keys)
	}
	if list, next := z.since(z.next - 1); len(list) != 1 || next != 20_001+3*keptEvents {
		t.Errorf("%d events, the next is %d", len(list), next)
	}
}
