package scoll_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll"
)

// TestAgentsPipeline: SC-A17 end to end: bulk data in segments reaches all members completely, even if its length is
// not a multiple of the segment's. So does a broadcast of another member over the handle that it got by Request.Group.
// No state is left.
func TestAgentsPipeline(t *testing.T) {
	spec.Covers(t, "SC-A17")
	effort.OneGoroutine(t)
	for _, size := range []int{1, 4096, 4097, 2<<20 + 17} {
		for _, segment := range []int{1, 5000, 1 << 20, 2 << 20} {
			if segment > 1 && segment < size>>7 {
				continue // would repeat the run with segment 1, because SetSegment gets size>>7 in both runs
			}
			t.Run(fmt.Sprintf("%d in %d", size, segment), func(t *testing.T) {
				s := newStacks(t, 12, nil)
				g := s.group(0, false, scoll.Tree{})
				g.SetSegment(max(segment, size>>7)) // large enough segments to limit the number of messages
				bulk := make([]byte, size)
				for i := range bulk {
					bulk[i] = byte(i * i >> 5)
				}
				want := []string{"b"}
				s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("b"), Bulk: [][]byte{bulk[:size/3], bulk[size/3:]}}), want)
				s.same(bulk)
				again := s.nodes[7].kept.Group()
				s.all(s.broadcast(7, again, scoll.RequestConfig{Payload: []byte("b"), Bulk: [][]byte{bulk}}), append(want, "b"))
				s.same(bulk)
				for _, k := range s.nodes {
					if requests, _ := k.agent.Held(); requests != 0 {
						t.Errorf("node %d keeps %d requests", k.id, requests)
					}
				}
			})
		}
	}
}

// same fails the test unless all nodes have the given bulk data.
func (s *stacks) same(bulk []byte) {
	s.t.Helper()
	for _, k := range s.nodes {
		if !bytes.Equal(k.bulk, bulk) {
			s.t.Fatalf("node %d has other data", k.id)
		}
	}
}

// TestAgentsPipelineFaster: SC-A17: with whole stacks at 10 Gb/s, 4 MiB of bulk data in segments
// reach all nodes of a tree of depth 3 in at most half the time that they take without segments.
func TestAgentsPipelineFaster(t *testing.T) {
	spec.Covers(t, "SC-A17")
	effort.OneGoroutine(t)
	var took [2]time.Duration
	for i, segment := range []int{0, 128 << 10} {
		s := newStacksAt(t, 15, 10_000_000_000, nil)
		g := s.group(0, false, scoll.Tree{Type: scoll.KAry, K: 2})
		g.SetSegment(segment)
		o := s.broadcast(0, g, scoll.RequestConfig{Bulk: [][]byte{make([]byte, 4<<20)}})
		s.all(o, []string{""})
		took[i] = o.at
	}
	t.Logf("4 MiB to 15 nodes, depth 3: %v, in segments %v", took[0], took[1])
	if took[1] > took[0]/2 {
		t.Errorf("%v, in segments %v", took[0], took[1])
	}
}

// TestAgentsPipelineDeath: SC-137, SC-139, SC-A17: an inner node dies while segments are under
// way. The nodes below it end the request without having run it.
func TestAgentsPipelineDeath(t *testing.T) {
	spec.Covers(t, "SC-137", "SC-139", "SC-A17")
	effort.OneGoroutine(t)
	s, views := watchedAt(t, 15, 1_000_000_000)
	g := s.group(0, true, scoll.Tree{Type: scoll.KAry, K: 2})
	g.SetSegment(64 << 10)
	s.fabric.At(s.fabric.Now()+20*time.Millisecond, func() {
		s.fabric.Kill(1)
		for i := range s.nodes {
			if i != 1 {
				s.died(views, i, 1)
			}
		}
	})
	o := s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x"), Bulk: [][]byte{make([]byte, 8<<20)}})
	below := map[int]bool{1: true, 3: true, 4: true, 7: true, 8: true, 9: true, 10: true}
	if len(o.unreached) != len(below) || len(o.answered) != 15-len(below) {
		t.Fatalf("answered %v, unreached %v", o.answered, o.unreached)
	}
	for _, u := range o.unreached {
		if id := int(u.NID.Number()) - int(s.members.NID(0).Number()); !below[id] || u.Status != scoll.EHOSTDOWN {
			t.Errorf("unreached %v", u)
		}
	}
	for _, k := range s.nodes {
		if below[k.id] && k.id != 1 && len(k.ran) > 0 {
			t.Errorf("node %d ran with half of the data", k.id)
		}
		if requests, _ := k.agent.Held(); requests != 0 && k.id != 1 {
			t.Errorf("node %d keeps %d requests", k.id, requests)
		}
	}
}

// TestAgentsPipelineUntold: SC-A22, SC-A17: a Progress message that cannot be sent is sent
// again, but a request is not.
func TestAgentsPipelineUntold(t *testing.T) {
	spec.Covers(t, "SC-A17", "SC-A22")
	s := newStacksAt(t, 3, 1_000_000_000, nil)
	g := s.group(0, true, scoll.Tree{Type: scoll.KAry, K: 1}) // the tree is a chain
	g.SetSegment(64 << 10)
	s.nodes[1].agent.SpoilWords(1)
	bulk := bytes.Repeat([]byte("bulk data "), 100_000)
	s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("b"), Bulk: [][]byte{bulk}}), []string{"b"})
	s.same(bulk)
	if inner, leaf := s.nodes[1].agent.Stats(), s.nodes[2].agent.Stats(); inner.Retries != 1 || leaf.Replayed != 0 {
		t.Errorf("%d retries, %d requests came twice", inner.Retries, leaf.Replayed)
	}
}
