//go:build linux

package main_test

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"
	"time"

	"ulnet/cmd/internal/page"
	"ulnet/lnet/nid"
)

// demoReadings is the number of readings after which the demo stays as it is: one more than the page
// has in its charts.
const demoReadings = 61

// demo returns a state of a server in a cluster that has just lost one of eight servers. Counters
// grow with the number of the reading.
func demo(reading int) *page.State {
	var out, in float64
	for i := range reading {
		x := float64(i)
		out += 24_000 + 9000*math.Sin(x/7) + 3000*math.Sin(x*1.9)
		in += 31_000 + 7000*math.Sin(x/5+2) + 2500*math.Cos(x*2.3)
	}
	sent, received := demoCount(9_184_220, out, 41_000), demoCount(11_920_551, in, 66_000)
	s := &page.State{
		Node: page.Node{Host: "oss3", NIDs: []nid.NID{demoNID(3, "tcp"), demoNID(3, "o2ib")}, Version: "v0.1.0", Discovery: true},
		Now: page.Now{
			TimeMS: demoStart.Add(time.Duration(reading) * time.Second).UnixMilli(), ClockMS: float64(1000 * reading), Sent: sent, Received: received,
			Dropped: page.Count{Messages: 12}, Drops: map[string]uint64{"no match": 12}, InFlight: 17, Timeouts: 3, Resends: 41,
		},
		NIs: []page.NI{
			{NID: demoNID(3, "tcp"), Interface: "eth0", Status: "up", Health: 1000, Credits: 254, MinCredits: 211, MaxCredits: 256, Peers: 12, Sent: demoCount(812_441, out/8, 900), Received: demoCount(977_310, in/8, 1100)},
			{NID: demoNID(3, "o2ib"), Interface: "ib0", Status: "up", Health: 1000, Credits: 239, MinCredits: 96, MaxCredits: 256, Peers: 31, Sent: demoCount(8_371_779, out*7/8, 47_000), Received: demoCount(10_943_241, in*7/8, 75_000)},
		},
		Routes: page.Routes{Total: 2, Down: 1, List: []page.Route{
			{Net: "tcp9", Gateway: demoNID(91, "o2ib"), Hops: 1, State: "down", Cause: "gateway is down"},
			{Net: "tcp9", Gateway: demoNID(90, "o2ib"), Hops: 1, State: "up"},
		}},
		Zone: &page.Zone{Name: "rack7", State: "joined", Members: 46, Suspects: 1, Links: 12, Census: []page.Census{
			{Zone: "rack5", State: "current", Size: 512, Delegate: "c5-001"}, {Zone: "rack6", State: "stale", Size: 498, Delegate: "c6-014"}, {Zone: "rack7", State: "current", Size: 46, Delegate: "oss1"},
		}},
		Collectives: &page.Collectives{Running: 1, Carried: 2, Groups: []page.CollectiveGroup{{Name: "all", Members: 8, Alive: 7, Tree: "k-nomial 2", Branches: demoTree()}}, List: []page.Collective{
			{ID: 318, Group: "all", What: "run refresh-quota", Began: demoStart.Add(55 * time.Second), Running: true, Members: 8},
			{ID: 317, Group: "all", What: "status", Began: demoStart.Add(20 * time.Second), Status: "incomplete", ElapsedUS: 5_012_400, Members: 8, Reached: 7, Unreached: 1},
			{ID: 316, Group: "all", What: "status", Began: demoStart.Add(-40 * time.Second), Status: "ok", ElapsedUS: 1400, Members: 8, Reached: 8},
		}},
		Multicast: []page.Group{{Name: "maps", State: "member", Members: 8, Manager: demoNID(1, "o2ib"), InFlight: 4, Waits: 1}},
		Capture:   &page.Capture{Bytes: 20_392},
		Events: []page.Event{
			{Time: demoStart.Add(51 * time.Second), Event: "health.evicted.timed-out", About: "login2"},
			{Time: demoStart.Add(46 * time.Second), Event: "peer.down", About: demoNID(6, "o2ib").String() + " via " + demoNID(3, "o2ib").String() + ": connection timed out"},
			{Time: demoStart.Add(44 * time.Second), Event: "gossip.died", About: demoNID(6, "o2ib").String()},
			{Time: demoStart.Add(43 * time.Second), Event: "zone.suspected", About: "c7-031"},
			{Time: demoStart.Add(-9 * time.Minute), Event: "zone.joined", About: "c7-046"},
			{Time: demoStart.Add(-2 * time.Hour), Event: "route.down", About: "tcp9 by " + demoNID(91, "o2ib").String() + ": gateway is down"},
			{Time: demoStart.Add(-3 * time.Hour), Event: "gossip.quorum"},
		},
	}
	demoMembers(s)
	return s
}

// demoTree is the binomial tree of eight servers with the third as its root.
func demoTree() (list []page.Branch) {
	for i, parent := range []int{6, 0, -1, 2, 2, 4, 2, 6} {
		list = append(list, page.Branch{NID: demoNID(i+1, "o2ib"), Parent: parent})
	}
	return list
}

// demoMembers adds the servers, clients and peers.
func demoMembers(s *page.State) {
	g := &page.Gossip{State: "running", Self: demoNID(3, "o2ib"), Quorum: true, Alive: 7, Total: 8}
	h := &page.Servers{State: "running", Quorum: true, Clients: 37, Mastered: 5, Orphaned: 2}
	for _, i := range []int{6, 1, 2, 3, 4, 5, 7, 8} {
		p := page.Participant{NID: demoNID(i, "o2ib"), State: "alive", Age: uint8(i % 4)}
		m := page.Master{NID: p.NID, Alive: true, Self: i == 3, Clients: 5, Draining: i == 8}
		if i == 6 {
			p.State, p.Age, p.Deaths, m.Alive, m.Clients = "dead", 19, 2, false, 2
		}
		g.Participants, h.Masters = append(g.Participants, p), append(h.Masters, m)
		if i != 3 {
			peer := page.Peer{NID: p.NID, Via: demoNID(3, "o2ib"), State: "up", Health: 1000, Credits: 8, MinCredits: -11 + i, MaxCredits: 8, Sent: demoCount(uint64(102_000*i), 0, 47_000), Received: demoCount(uint64(131_000*i), 0, 75_000)}
			if i == 6 {
				peer.State, peer.Cause, peer.Health, peer.Credits, peer.Waiting = "down", "connection timed out", 0, -3, 3
			}
			s.Peers.List = append(s.Peers.List, peer)
		}
	}
	for i := range 6 {
		state := []string{"orphaned", "connected"}[min(i/2, 1)]
		h.List = append(h.List, page.ClientNode{ID: fmt.Sprintf("%032x", i), Name: fmt.Sprintf("c7-%03d", i+1), NID: demoNID(100+i, "o2ib"), State: state, Master: g.Participants[i].NID})
	}
	s.Peers.Total, s.Peers.Down, s.Peers.Unwell, s.Peers.Waiting = 43, 1, 1, 3
	for i := range 46 {
		state := "member"
		if i == 0 {
			state = "suspected"
		}
		s.Zone.List = append(s.Zone.List, page.Member{Name: fmt.Sprintf("c7-%03d", (i+30)%46+1), State: state})
	}
	s.Gossip, s.Servers = g, h
}

func demoNID(i int, net string) nid.NID { return nid.MustParse(fmt.Sprintf("10.7.0.%d@%s", i, net)) }

// demoCount returns a count of n plus more messages, each of the given size in bytes.
func demoCount(n uint64, more float64, size uint64) page.Count {
	n += uint64(more)
	return page.Count{Messages: n, Bytes: n * size}
}

// small returns a picture with a palette of its most frequent colors, which takes less memory.
func small(t *testing.T, text []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	bounds, count := from.Bounds(), map[color.Color]int{}
	each := func(f func(x, y int, c color.Color)) {
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				f(x, y, from.At(x, y))
			}
		}
	}
	each(func(_, _ int, c color.Color) { count[c]++ })
	var palette color.Palette
	for c := range count {
		palette = append(palette, c)
	}
	rgba := func(c color.Color) uint32 {
		r, g, b, _ := c.RGBA()
		return r>>8<<16 | g>>8<<8 | b>>8
	}
	slices.SortFunc(palette, func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(rgba(a), rgba(b)))
	})
	palette = palette[:min(len(palette), 96)]
	to, index := image.NewPaletted(bounds, palette), map[color.Color]uint8{}
	each(func(x, y int, c color.Color) {
		i, ok := index[c]
		if !ok {
			i = uint8(palette.Index(c))
			index[c] = i
		}
		to.SetColorIndex(x, y, i)
	})
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, to); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
