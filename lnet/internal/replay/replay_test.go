package replay

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/nid"
)

func nids(texts ...string) (list []nid.NID) {
	for _, text := range texts {
		list = append(list, nid.MustParse(text))
	}
	return list
}

// recording is a capture, or both sides of a router, and the nodes in it.
type recording struct {
	name  string
	files []string // if not the name alone
	nodes [][]nid.NID
	// differ are the differences of each node, with how often there are: those that
	// reasons begins with.
	differ []map[string]int
}

// reasons are why our node may do otherwise than the recorded one, by the beginning of the
// difference.
var reasons = map[string]string{
	"extra: GET":     "the recorded node knew its peer before the recording began, or from the push that came first; ours pings it before its first message, and again after that push",
	"extra: PUT":     "with that ping goes a push",
	"REPLY tells":    "22.2: after the carrier is back the recorded node goes on telling that the NI is down, for as long as the recording is",
	"PUT tells":      "22.2 likewise",
	"missing: REPLY": "the recording has the ping on the wire while the carrier was gone, and the answer when it was back; ours fails to send that",
}

var (
	two, three           = nids("10.88.0.2@tcp", "10.88.0.102@tcp"), nids("10.88.0.3@tcp", "10.88.0.103@tcp")
	twoApart, threeApart = nids("10.88.0.2@tcp", "10.89.0.2@tcp"), nids("10.88.0.3@tcp", "10.89.0.3@tcp")
)

var recordings = []recording{
	{name: "tcp-mr-two-rails", nodes: [][]nid.NID{twoApart, threeApart}, differ: []map[string]int{
		{"extra: GET": 2, "extra: PUT": 1}, {"extra: GET": 1},
	}},
	{name: "tcp-mr-link-down", nodes: [][]nid.NID{two, three}, differ: []map[string]int{
		{"extra: PUT": 1}, {"extra: GET": 1, "PUT tells": 1, "REPLY tells": 25, "missing: REPLY": 1},
	}},
	{name: "tcp-health-local-dropped", nodes: [][]nid.NID{two, three}, differ: []map[string]int{
		{"extra: GET": 2, "extra: PUT": 1}, {"extra: GET": 1},
	}},
	{name: "tcp-health-remote-dropped", nodes: [][]nid.NID{two, three}, differ: []map[string]int{
		{"extra: GET": 1, "extra: PUT": 1}, {"extra: GET": 1},
	}},
}

// events are what happened to a node, by recording and node.
var events = map[string]map[time.Duration]func(*player){
	"tcp-mr-link-down 10.88.0.3@tcp": {
		3700 * time.Millisecond:  func(p *player) { p.adds[three[1]].SetLink(errors.New("no carrier")) },
		17800 * time.Millisecond: func(p *player) { p.adds[three[1]].SetLink(nil) },
	},
}

// TestRecordings replays each node of each recording. What our node does otherwise is
// counted, and must be what is written down here.
func TestRecordings(t *testing.T) {
	for _, r := range recordings {
		for i, node := range r.nodes {
			t.Run(r.name+"/"+node[0].String(), func(t *testing.T) { r.replay(t, i) })
		}
	}
}

// replay puts our stack in the place of one node.
func (r *recording) replay(t *testing.T, i int) {
	rails, node := map[nid.NID]nid.NID{}, r.nodes[i]
	for _, other := range r.nodes {
		for _, id := range other[1:] {
			rails[id] = other[0]
		}
	}
	p := newPlayer(t, node, rails)
	p.play(load(t, filesOf(r.files, r.name)...), events[r.name+" "+node[0].String()])
	got := map[string]int{}
	for what, n := range p.seen {
		for begin := range reasons {
			if strings.HasPrefix(what, begin) {
				what = begin
			}
		}
		got[what] += n
	}
	if diff := cmp.Diff(r.differ[i], got); diff != "" {
		t.Errorf("differences (-want +got)\n%s\n%v", diff, p.seen)
	}
	if p.users != 0 {
		t.Errorf("%d operations of users have not ended", p.users)
	}
}

// filesOf returns a list, or that of a name if it is empty.
func filesOf(list []string, name string) []string {
	if len(list) == 0 {
		return []string{name}
	}
	return list
}
