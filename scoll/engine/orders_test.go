package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// orders steps an inner node with two children, in an order that choices determine.
type orders struct {
	*harness
	choices []int // index of the event chosen at each point of the run
	options []int // number of events that were possible at each point
	plan    []int
	todo    []func()
	called  map[EffectKind]int
	inside  int // number of incoming-reply callbacks that have not returned
	running int // number of incoming-request and post-reply callbacks that have not returned
}

// pick executes one of the possible next events, and reports whether there was one.
func (o *orders) pick() bool {
	if len(o.todo) == 0 {
		return false
	}
	i := 0
	if n := len(o.choices); n < len(o.plan) {
		i = o.plan[n]
	}
	o.choices, o.options = append(o.choices, i), append(o.options, len(o.todo))
	f := o.todo[i]
	o.todo = append(o.todo[:i:i], o.todo[i+1:]...)
	f()
	o.follow()
	return true
}

// can adds an event that is possible next.
func (o *orders) can(f func()) { o.todo = append(o.todo, f) }

// follow adds the events that the effects of a step make possible.
func (o *orders) follow() {
	id := o.id
	for _, e := range o.effects {
		o.called[e.Kind]++
		switch e.Kind {
		case CallPreRequest:
			o.can(func() { o.step(Input{Kind: InPreRequest, ID: id}) })
		case DoSend:
			o.can(func() { o.childReplies([]int{6, 5}[e.Child], nil) })
		case CallIncoming:
			o.running++
			o.can(func() { o.running--; o.step(Input{Kind: InIncoming, ID: id}) })
		case CallReply:
			o.inside++
			o.can(func() { o.inside--; o.step(Input{Kind: InReply, ID: id, Child: e.Child}) })
		case CallPostReply:
			if o.inside > 0 {
				o.t.Fatal("SC-50: post-reply before all incoming-replies returned")
			}
			o.running++
			o.can(func() { o.running--; o.step(Input{Kind: InPostReply, ID: id}) })
			o.can(func() { o.step(Input{Kind: Answer, ID: id, Final: true, Size: 1}) })
		case DoReply:
			o.can(func() { o.step(Input{Kind: InSent, ID: id, Child: Upward, Part: e.Part}) })
		case CallReplyOut:
			if o.running > 0 {
				o.t.Fatal("SC-72: reply-out before all callbacks returned")
			}
			o.can(func() { o.step(Input{Kind: InReplyOut, ID: id}) })
		}
	}
}

// TestAllOrders: SC-A2, SC-45 to SC-47, SC-50: callbacks return and messages arrive in any
// order. Each callback is called once and one reply is sent.
func TestAllOrders(t *testing.T) {
	spec.Covers(t, "SC-45", "SC-46", "SC-47", "SC-50", "SC-A2")
	var plan []int
	runs := 0
	for {
		o := &orders{harness: newHarness(t, 8, 4, nil), plan: plan, called: map[EffectKind]int{}}
		o.admitted(nil)
		o.follow()
		for o.pick() {
		}
		runs++
		for kind, want := range map[EffectKind]int{
			CallPreRequest: 1, CallIncoming: 1, CallReply: 2, CallPostReply: 1, DoReply: 1, CallReplyOut: 1, DoFree: 1, DoSend: 2,
		} {
			if o.called[kind] != want {
				t.Fatalf("order %v: %d × %s", o.choices, o.called[kind], effectNames[kind])
			}
		}
		last := len(o.choices) - 1
		for last >= 0 && o.choices[last] == o.options[last]-1 {
			last--
		}
		if last < 0 {
			break
		}
		plan = append(o.choices[:last:last], o.choices[last]+1)
	}
	if runs < 100 {
		t.Errorf("only %d orders", runs)
	}
}
