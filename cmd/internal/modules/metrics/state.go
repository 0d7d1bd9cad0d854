package metrics

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/statefiles"
	"ulnet/gossip"
	"ulnet/gossip/zone"
	"ulnet/lnet"
	"ulnet/lnet/selftest"
)

// state is all that one scrape reads. A nil field belongs to a module that does not run.
type state struct {
	stats  lnet.Stats
	status node.Status
	routes []node.RouteStatus
	router lnet.RouterSnapshot
	peers  *peerSet

	captured       bool   // the daemon can capture
	captureDropped uint64 // packets that viewers were too slow for
	guarded        bool   // the page offers captures, to clients with the token
	wrongTokens    uint64 // requests for captures of the page that did not have the token

	gossip   *gossip.Status
	zone     *zone.Status
	scoll    *scoll.Status
	rmcast   *rmcast.Status
	health   *health.Status
	selftest *selftest.Status
}

// read returns a new copy of the daemon's state. If a module returns an error, it is not configured,
// and its field is nil.
func (m *Module) read(peers *peerSet) *state {
	n := m.Table.Node()
	peers.read(n)
	s := &state{stats: n.Stats(), status: m.NodeStatus(), routes: m.NodeRoutes(), router: n.Router(), peers: peers}
	if tap, ok := m.Tap.(interface{ Dropped() uint64 }); ok {
		s.captured, s.captureDropped = true, tap.Dropped()
	}
	if m.capture != nil {
		if c := m.capture.Status(); c != nil {
			s.guarded, s.wrongTokens = true, c.Wrong
		}
	}
	s.gossip = m.gossip.Status().Snapshot
	s.zone = known(m.zone.Status())
	s.scoll = known(m.scoll.Status())
	s.rmcast = known(m.rmcast.Status())
	s.health = known(m.health.Status())
	s.selftest = known(m.selftest.Status())
	return s
}

// known returns a status, or nil if there is an error.
func known[T any](status T, err error) *T {
	if err != nil {
		return nil
	}
	return &status
}

// countersOf returns the counters of a struct: its fields of type uint64, by their names in JSON
// or, if they have none, by names such as "not_posted". Elements of arrays have their index as a
// suffix.
func countersOf(of any) map[string]uint64 {
	m := map[string]uint64{}
	for field, value := range reflect.ValueOf(of).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		name = cmp.Or(name, statefiles.Underscored(field.Name))
		if value.Kind() == reflect.Uint64 && field.Type == reflect.TypeFor[uint64]() {
			m[name] = value.Uint()
		}
	}
	return m
}

// eachEvent calls yield with each counter and its name, in the order of names.
func eachEvent(counters map[string]uint64, yield func(uint64, ...string)) {
	for _, event := range slices.Sorted(maps.Keys(counters)) {
		yield(counters[event], event)
	}
}
