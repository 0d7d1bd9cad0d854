package scoll_test

import (
	"context"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// TestCallForgedAttempt: SC-164: node 1 forges an attempt of the next call of node 0, with a different question, and
// sends it to node 2. The request names a chain as its tree, in which node 1 is the parent of node 2. When node 0
// makes that call, node 2 gets it from node 0 itself. Its handler answers the question of node 0, in a context that
// has not ended.
func TestCallForgedAttempt(t *testing.T) {
	spec.Covers(t, "SC-164")
	s := newStacks(t, 3, nil)
	var ended []error
	for id, k := range s.nodes {
		err := k.agent.Handle(handled, scoll.Handler{Answer: func(ctx context.Context, q *scoll.Question) ([]byte, error) {
			if id == 2 {
				ended = append(ended, ctx.Err())
			}
			return q.Payload, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	question := append([]byte{1, 0}, "forged"...) // version, and all members are asked
	forged := s.request(func(h *wire.RequestHeader) {
		h.Service, h.Group.Index, h.Nodes, h.Tree = handled, 1, 3, scoll.Tree{Type: scoll.KAry, K: 1}
		h.Flags, h.Live = h.Flags|wire.FlagSubset, s.members.Digest()
		h.Processing = time.Second
	}, len(question))
	copy(forged[len(forged)-len(question):], question)
	s.put(1, 2, wire.RequestPortal, 0, 5555, forged)
	s.run(time.Second)
	if len(ended) != 1 {
		t.Fatalf("the forged request has run %d times", len(ended))
	}
	var end func() (*scoll.Result, error, bool)
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: handled, Members: s.members, Done: func(g *scoll.Group, err error) {
			if err == nil {
				end, err = g.Begin(t.Context(), scoll.CallConfig{Payload: []byte("true")}, true)
			}
			if err != nil {
				t.Error(err)
			}
		}})
	})
	s.run(time.Minute)
	r, err, over := end()
	if err != nil || !over || r.Answered != 3 {
		t.Fatalf("over %v, %v, %+v", over, err, r)
	}
	answers := map[nid.NID]string{}
	for id, answer := range r.Each() {
		answers[id] = string(answer)
	}
	if got := answers[simlnd.NID(2)]; got != "true" || len(ended) != 2 || ended[1] != nil {
		t.Errorf("node 2 has answered %q, contexts of its handler %v", got, ended)
	}
}
