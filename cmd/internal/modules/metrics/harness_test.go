package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/node"
	"ulnet/gossip"
	"ulnet/gossip/zone"
	"ulnet/health/boltstore"
	"ulnet/lnet"
	"ulnet/lnet/latency"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
)

// fakeNode is the message layer of a node with peers.
type fakeNode struct {
	peers   []lnet.PeerSnapshot
	traffic lnet.Traffic // traffic of the whole node
}

func (n *fakeNode) EachPeer(f func(*lnet.PeerSnapshot)) {
	for i := range n.peers {
		f(&n.peers[i])
	}
}

func (n *fakeNode) Traffic() lnet.Traffic { return n.traffic }

func (n *fakeNode) Stats() lnet.Stats { return lnet.Stats{} }

// add adds a peer, to which the node has sent the given number of messages.
func (n *fakeNode) add(id string, sent uint64) {
	n.peers = append(n.peers, lnet.PeerSnapshot{NID: nid.MustParse(id), State: "up", Health: 1000, Credits: 8, MaxCredits: 8})
	n.send(len(n.peers)-1, sent)
}

// send counts further messages as sent to a peer.
func (n *fakeNode) send(peer int, sent uint64) {
	n.peers[peer].Traffic.Sent.Put += sent
	n.traffic.Sent.Put += sent
}

// fullState is the state of a daemon in which everything runs, so that it has all metrics.
func fullState(peers *peerSet) *state {
	id := nid.MustParse("10.0.0.1@tcp")
	s := &state{
		status: node.Status{NIs: []node.NIStatus{{
			NISnapshot: lnet.NISnapshot{NID: id, Net: "tcp", Interface: "eth0", Status: "up", Health: 1000},
			LND: drivers.Status{
				Reasons: map[string]uint64{"refused": 1}, Multicast: &drivers.Multicast{},
				Verbs: &drivers.Verbs{Counters: map[string]uint64{"resent": 1}},
			},
		}}},
		routes: []node.RouteStatus{{Net: "tcp1", Gateway: id, State: routeUp}},
		peers:  peers, captured: true, guarded: true,
		gossip: &gossip.Status{}, zone: &zone.Status{Zone: "z"}, scoll: &scoll.Status{Stats: map[string]uint64{"requests": 1}},
		rmcast: &rmcast.Status{Groups: []rmcast.GroupStatus{{
			Name: "g", Stats: map[string]uint64{"sent": 1}, Managing: &rmcast.Managing{Stats: map[string]uint64{"joins": 1}},
		}}},
		health: &health.Status{
			Server: &health.ServerRole{Stats: map[string]uint64{"pings": 1, pausedMS: 1500}, Store: &health.StoreStatus{Stats: boltstore.Stats{}}},
			Client: &health.ClientRole{Stats: map[string]uint64{"sent": 1}},
		},
		selftest: &selftest.Status{},
	}
	for i, h := range []*latency.Snapshot{&s.status.Latency.PutAck, &s.status.Latency.GetReply, &s.scoll.Latency, &s.health.Client.PingLatency} {
		*h = timesOf(time.Duration(i+1) * time.Millisecond)
	}
	return s
}

// timesOf returns a histogram of operations that took these times.
func timesOf(times ...time.Duration) latency.Snapshot {
	var h latency.Histogram
	for _, d := range times {
		h.Record(d)
	}
	return h.Snapshot()
}

// crowdOf returns a node with the given number of peers.
func crowdOf(count int) *fakeNode {
	n := &fakeNode{}
	for i := range count {
		n.add(fmt.Sprintf("10.1.%d.%d@tcp", i/250, i%250+1), 1_000_000+uint64(i))
	}
	return n
}

// gathererOf returns a gatherer that reads a full state and the peers of a node. At most limit of
// the peers get labels of their own.
func gathererOf(n *fakeNode, limit int) *gatherer {
	return newGatherer(func(peers *peerSet) *state {
		peers.read(n)
		return fullState(peers)
	}, limit)
}

// scrape returns the answer to a request.
func scrape(t testing.TB, h http.Handler, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
