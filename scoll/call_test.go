package scoll_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

const handled scoll.ServiceID = 11

// handle registers a handler on every node. The function of returns the handler for the number of a
// node.
func (w *wires) handle(of func(id int) scoll.Handler) {
	w.t.Helper()
	for _, d := range w.nodes {
		if err := d.agent.Handle(handled, of(d.id)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// ask makes a call from a node.
func (w *wires) ask(ctx context.Context, root int, shape scoll.Tree, cfg scoll.CallConfig) (*scoll.Result, error) {
	w.t.Helper()
	var g *scoll.Group
	w.nodes[root].agent.CreateGroup(scoll.GroupConfig{
		Service: handled, Members: w.members(), Tree: shape, Done: func(made *scoll.Group, err error) {
			if g = made; err != nil {
				w.t.Fatal(err)
			}
		},
	})
	return g.Call(ctx, cfg)
}

func sumOfTwo(a, b []byte) ([]byte, error) {
	if len(a) != 8 || len(b) != 8 {
		return nil, scoll.EPROTO
	}
	return number(binary.LittleEndian.Uint64(a) + binary.LittleEndian.Uint64(b)), nil
}

func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// TestCall: a call asks each member once, from any root, merges the answers, and returns errors
// with their texts.
func TestCall(t *testing.T) {
	spec.Covers(t, "SC-166")
	const n = 8
	w := newWires(t, n, scoll.Config{RTT: time.Minute})
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{
			Answer: func(ctx context.Context, q *scoll.Question) ([]byte, error) {
				if _, ok := ctx.Deadline(); !ok || string(q.Payload) == "" || q.Self != wireNID(id) {
					t.Errorf("node %d: asked %q as %v", id, q.Payload, q.Self)
				}
				if string(q.Payload) == "fail" && id == 4 {
					return nil, fmt.Errorf("%w: disk sdb is gone\x1b[2J", scoll.EIO)
				}
				return number(1 << id), nil
			},
			Merge: sumOfTwo,
		}
	})
	for root := range n {
		r, err := w.ask(t.Context(), root, scoll.Tree{}, scoll.CallConfig{Payload: []byte("hello")})
		if err != nil || r.Err() != nil || r.Asked != n || r.Answered != n || !slices.Equal(r.Answer, number(1<<n-1)) {
			t.Fatalf("root %d: %+v, %v", root, r, err)
		}
	}
	r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{Payload: []byte("fail")})
	if err != nil || r.Answered != n-1 || !slices.Equal(r.Answer, number(1<<n-1-1<<4)) || len(r.Failed) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, want := r.Failed[0].Error(), "rank 4, "+wireNID(4).String()+": failed: disk sdb is gone\ufffd[2J"; got != want || !errors.Is(r.Failed[0], scoll.EIO) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCallTwice: a handler may modify the question, at the root too. The caller's own question stays as it is, so the next
// call with it asks the same.
func TestCallTwice(t *testing.T) {
	spec.Covers(t, "SC-166")
	const n = 3
	w := newWires(t, n, scoll.Config{RTT: time.Minute})
	got := make(chan byte, 2*n)
	w.handle(func(int) scoll.Handler {
		return scoll.Handler{Inline: true, Answer: func(_ context.Context, q *scoll.Question) ([]byte, error) {
			got <- q.Payload[0]
			q.Payload[0]++
			return nil, nil
		}}
	})
	question := []byte{1}
	for range 2 {
		if r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{Payload: question}); err != nil || r.Err() != nil {
			t.Fatal(r, err)
		}
	}
	for range 2 * n {
		if b := <-got; b != 1 {
			t.Errorf("a member was asked %d, want 1", b)
		}
	}
}

// TestCallOnly: with CallConfig.Only the handlers of other members do not run. These members forward the call, and are
// not counted.
func TestCallOnly(t *testing.T) {
	spec.Covers(t, "SC-166")
	const n = 9
	w := newWires(t, n, scoll.Config{RTT: time.Minute})
	var ran [n]atomic.Int32
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{Inline: true, Answer: func(context.Context, *scoll.Question) ([]byte, error) {
			ran[id].Add(1)
			return []byte{byte(id)}, nil
		}}
	})
	for _, only := range [][]int{{}, {0}, {8}, {3, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 8}} {
		nodes := []nid.NID{}
		for _, id := range slices.Backward(only) {
			nodes = append(nodes, wireNID(id))
		}
		r, err := w.ask(t.Context(), 2, scoll.Tree{Type: scoll.KAry, K: 2}, scoll.CallConfig{Only: nodes})
		if err != nil || r.Err() != nil || r.Asked != len(only) || r.Answered != len(only) {
			t.Fatalf("%v: %+v, %v", only, r, err)
		}
		var got []int
		for id, data := range r.Each() {
			if id != wireNID(int(data[0])) {
				t.Errorf("%v answers %d", id, data)
			}
			got = append(got, int(data[0]))
		}
		if slices.Sort(got); !slices.Equal(got, only) && len(only) > 0 {
			t.Errorf("%v answered, want %v", got, only)
		}
		for id := range n {
			if times := ran[id].Swap(0); (times == 1) != slices.Contains(only, id) || times > 1 {
				t.Errorf("%v are asked, and node %d ran it %d times", only, id, times)
			}
		}
	}
	if _, err := w.ask(t.Context(), 2, scoll.Tree{}, scoll.CallConfig{Only: []nid.NID{wireNID(n)}}); !errors.Is(err, scoll.EINVAL) {
		t.Errorf("a stranger is asked: %v", err)
	}
}
