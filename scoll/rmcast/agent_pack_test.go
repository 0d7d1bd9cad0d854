package rmcast_test

import (
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/rmcast"
)

// TestAgentPacks: RM-43: a program sends several messages in a row when an earlier one is released. They share a
// datagram, and the counters show that.
func TestAgentPacks(t *testing.T) {
	spec.Covers(t, "RM-43")
	s := newStacks(t, 5, link.Quality{}, nil)
	s.form(5)
	repairs := s.warm()
	k := s.nodes[2]
	before := k.group.Stats()
	k.host.Do(func() {
		k.group.Post([]byte("first"), func(rmcast.Result, error) {
			for i := range 10 {
				k.group.Post([]byte(name(i, 2)), func(r rmcast.Result, err error) { k.done = append(k.done, outcome{r, err, 0}) })
			}
		})
	})
	s.run(time.Second)
	s.want("first", s.ids()...)
	for i := range 10 {
		s.want(name(i, 2), s.ids()...)
	}
	after := k.group.Status().Stats
	if sent, datagrams, packed := after.Sent-before.Sent, after.Datagrams-before.Datagrams, after.Packed-before.Packed; sent != 11 || datagrams != 2 || packed != 10 {
		t.Errorf("%d messages in %d datagrams, %d packed", sent, datagrams, packed)
	}
	for _, d := range k.done {
		if d.err != nil || len(d.result.Failed) > 0 {
			t.Errorf("%+v", d)
		}
	}
	if n := s.repairs(); len(k.done) != 10 || n > repairs {
		t.Errorf("%d messages are over, %d repairs", len(k.done), n-repairs)
	}
}
