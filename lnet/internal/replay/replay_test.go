package replay

import (
	"errors"
	"maps"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

func nids(texts ...string) (list []nid.NID) {
	for _, text := range texts {
		list = append(list, nid.MustParse(text))
	}
	return list
}

// recorded is a capture, or the captures of both sides of a router, and the nodes in it.
type recorded struct {
	name  string
	files []string // files of the recording; nil: one file, which has the name of the recording
	nodes [][]nid.NID
	// routes has, for each node, its routes as a value of the tunable routes.
	routes []string
	// differ has, for each node, how often each difference occurs. Each key is one of the keys of
	// reasons or routerReasons: the text with which the difference begins.
	differ []map[string]int
	// selftest says that the first two nodes have lnet_selftest, and the first one is a console.
	// samples has, for each of the two, the number of comparisons that the test must make of the growth
	// of the selftest counters. Each compares the growth between two replies to STAT.
	selftest bool
	samples  []int
}

// Reasons for which our node may behave otherwise than the recorded one, by the beginning of
// the difference.
var (
	reasons = map[string]string{
		"extra: GET":  "the recorded node knew its peer before the recording began, or from the push that came first; ours pings it before its first message, and again after that push. A router that is no gateway of the node is pinged when it brings a message",
		"extra: PUT":  "with that ping goes a push",
		"REPLY tells": "22.2: after the carrier is back the recorded node goes on telling that the NI is down, for as long as the recording is",
		"PUT tells":   "22.2 likewise",
		"GET goes":    "22.4: the recorded node sends through a gateway whose features say that it does not route yet",
	}
	// routerReasons are the allowed differences of routers.
	routerReasons = map[string]string{
		"extra: GET":   "22.5: before it tells that a net is silent, ours pings the nodes there",
		"missing: PUT": "22.5: with that it takes no net for down that is not, and so has fewer changes to tell",
		"extra: PUT":   "a change of the state of routing, or of a net, that the recorded node told at another time or not within the recording",
		"PUT tells":    "22.5 likewise: ours says up; and the recorded node was starting at another time",
		"REPLY tells":  "22.5 likewise",
	}
)

var (
	two, three           = nids("10.88.0.2@tcp", "10.88.0.102@tcp"), nids("10.88.0.3@tcp", "10.88.0.103@tcp")
	twoApart, threeApart = nids("10.88.0.2@tcp", "10.89.0.2@tcp"), nids("10.88.0.3@tcp", "10.89.0.3@tcp")
)

var (
	endA, endB = nids("10.88.0.5@tcp"), nids("10.89.0.6@tcp1")
	gateC      = nids("10.88.0.7@tcp", "10.89.0.7@tcp1")
	gateD      = nids("10.88.0.8@tcp", "10.89.0.8@tcp1")
)

var recordings = []recorded{
	{
		name: "tcp-route-basic", selftest: true, samples: []int{0, 1}, files: []string{"tcp-route-basic-near", "tcp-route-basic-far"},
		nodes: [][]nid.NID{endA, endB, gateC}, routes: []string{"tcp1 10.88.0.7@tcp", "tcp 10.89.0.7@tcp1"},
		differ: []map[string]int{{}, {}, {"extra: GET": 4, "missing: PUT": 17, "PUT tells": 1, "REPLY tells": 2}},
	},
	{
		name: "tcp-route-two-gateways", files: []string{"tcp-route-two-gateways-near", "tcp-route-two-gateways-far"},
		nodes:  [][]nid.NID{endA, endB, gateC, gateD},
		routes: []string{"tcp1 10.88.0.7@tcp:0; tcp1 10.88.0.8@tcp:1", "tcp 10.89.0.7@tcp1:0; tcp 10.89.0.8@tcp1:1"},
		differ: []map[string]int{
			{"GET goes": 1},
			{},
			{"extra: GET": 7, "extra: PUT": 1, "missing: PUT": 3, "PUT tells": 4, "REPLY tells": 2},
			{"extra: GET": 2, "missing: PUT": 17, "PUT tells": 1, "REPLY tells": 1},
		},
	},
	{
		name: "tcp-route-asym", files: []string{"tcp-route-asym-near", "tcp-route-asym-far"},
		nodes: [][]nid.NID{endA, endB, gateC, gateD}, routes: []string{"tcp1 10.88.0.7@tcp", "tcp 10.89.0.8@tcp1"},
		differ: []map[string]int{
			{"extra: GET": 2, "extra: PUT": 1},
			{"extra: GET": 2, "extra: PUT": 1},
			{"extra: GET": 1, "extra: PUT": 2},
			{"extra: GET": 1, "extra: PUT": 2, "REPLY tells": 3},
		},
	},
	{
		name: "tcp6-route", nodes: [][]nid.NID{nids("fd88::2@tcp"), nids("fd89::3@tcp1"), nids("fd88::4@tcp", "fd89::4@tcp1")},
		routes: []string{"tcp1 fd88::4@tcp", "tcp fd89::4@tcp1"},
		differ: []map[string]int{{}, {}, {"missing: PUT": 1, "PUT tells": 1, "REPLY tells": 1}},
	},
	{name: "tcp-mr-two-rails", selftest: true, samples: []int{0, 0}, nodes: [][]nid.NID{twoApart, threeApart}, differ: []map[string]int{
		{"extra: GET": 2, "extra: PUT": 1}, {"extra: GET": 1},
	}},
	{name: "tcp-mr-link-down", nodes: [][]nid.NID{two, three}, differ: []map[string]int{
		{"extra: PUT": 1}, {"extra: GET": 1, "PUT tells": 1, "REPLY tells": 25},
	}},
	{name: "tcp-health-local-dropped", selftest: true, samples: []int{0, 0}, nodes: [][]nid.NID{two, three}, differ: []map[string]int{
		{"extra: GET": 2, "extra: PUT": 1}, {"extra: GET": 1},
	}},
	{name: "tcp-health-remote-dropped", selftest: true, samples: []int{0, 0}, nodes: [][]nid.NID{two, three}, differ: []map[string]int{
		{"extra: GET": 1, "extra: PUT": 1}, {"extra: GET": 1},
	}},
}

// events are what happens to a node besides its messages, by recording and node.
var events = map[string]map[time.Duration]func(*player){
	"tcp-mr-link-down 10.88.0.3@tcp": {
		3700 * time.Millisecond:  func(p *player) { p.adds[three[1]].SetLink(errors.New("no carrier")) },
		17800 * time.Millisecond: func(p *player) { p.adds[three[1]].SetLink(nil) },
	},
	// The checks of gateway C, whose listener is gone, cause no messages.
	"tcp-route-two-gateways 10.88.0.5@tcp": {
		26 * time.Second: func(p *player) { p.node.GatewayChecked(gateC[0], syscall.ECONNREFUSED) },
	},
	"tcp-route-two-gateways 10.88.0.7@tcp": {
		43 * time.Second: func(p *player) {
			p.node.StopRouting()
			_ = p.node.StartRouting()
		},
	},
	"tcp-route-asym 10.88.0.5@tcp":  {0: takeAsymmetric},
	"tcp-route-asym 10.89.0.6@tcp1": {0: takeAsymmetric},
}

// takeAsymmetric makes a node use routes whose gateway reports its far NIs as down
// (avoid_asym_router_failure 0).
func takeAsymmetric(p *player) {
	s, drop := p.node.RouteSettings()
	s.AvoidAsymmetric = false
	p.node.SetRouteSettings(s, drop)
}

// TestRecordings replays each node of each recording. The differences of our node are
// counted, and must be those that are listed here.
func TestRecordings(t *testing.T) {
	spec.Covers(t, "ST-20", "ST-22")
	for _, r := range recordings {
		for i, node := range r.nodes {
			t.Run(r.name+"/"+node[0].String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { r.replay(t, i) })
			})
		}
	}
}

// replay puts our stack in the place of one node.
func (r *recorded) replay(t *testing.T, i int) {
	rails, node := map[nid.NID]nid.NID{}, r.nodes[i]
	for _, other := range r.nodes {
		for _, id := range other[1:] {
			rails[id] = other[0]
		}
	}
	routes := ""
	if i < len(r.routes) {
		routes = r.routes[i]
	}
	p := newPlayer(t, node, rails, routes)
	switch {
	case r.selftest && i == 0:
		p.tests = newTester(p, r.steps(t, node))
	case r.selftest && i == 1:
		p.tests = newTester(p, nil)
	default:
		p.post()
	}
	p.play(load(t, filesOf(r.files, r.name)...), maps.Clone(events[r.name+" "+node[0].String()])) // a copy, because play removes the events that have happened
	got := map[string]int{}
	for what, n := range p.seen {
		got[p.reason(what)] += n
	}
	if diff := cmp.Diff(r.differ[i], got); diff != "" {
		t.Errorf("differences (-want +got)\n%s\n%v", diff, p.seen)
	}
	if p.tests != nil {
		p.tests.over(r.samples[i])
	}
	if p.users != 0 {
		t.Errorf("%d operations of users have not ended", p.users)
	}
}

// reason returns the key under which a difference is known: the key of reasons, or of routerReasons if the node is a
// router, with which the text of the difference begins. If there is none, reason returns the text itself.
func (p *player) reason(what string) string {
	known := reasons
	if p.routes() {
		known = routerReasons
	}
	if strings.HasPrefix(what, "GET") && strings.Contains(what, "goes by") {
		what = "GET goes"
	}
	for _, begin := range sorted(known) {
		if strings.HasPrefix(what, begin) {
			return begin
		}
	}
	return what
}

// filesOf returns list, or only the file of name if the list is empty.
func filesOf(list []string, name string) []string {
	if len(list) == 0 {
		return []string{name}
	}
	return list
}
