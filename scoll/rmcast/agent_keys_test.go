package rmcast_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/wire"
)

// keys returns keys that repeat these characters.
func keys(t *testing.T, letters ...string) keyring.Keys {
	t.Helper()
	var all [][]byte
	for _, l := range letters {
		all = append(all, []byte(strings.Repeat(l, keyring.MinKey)))
	}
	k, err := keyring.NewKeys(all...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// members is the number of members of the first node's group.
func (s *stacks) members() int { return len(s.nodes[0].group.Status().Members) }

// TestKeys: nodes with the same key form a group, also if some have an additional new key. A
// node without a key, or with another one, does not become a member however often it tries.
func TestKeys(t *testing.T) {
	spec.Covers(t, "RM-37")
	s := newStacks(t, 6, link.Quality{}, func(id int, agent *rmcast.Config, _ *rmcast.GroupConfig) {
		agent.Keys = []keyring.Keys{keys(t, "a"), keys(t, "a", "b"), keys(t, "b", "a"), keys(t, "a"), keys(t, "c"), {}}[id]
	})
	_ = s.nodes[2].agent.Close(t.Context()) // leave node 2 out: it signs with the new key b, which the first node does not have
	s.run(3 * time.Second)
	if n := s.members(); n != 3 {
		t.Fatalf("%d members", n)
	}
	text := strings.Repeat("signed ", 3000)
	for _, id := range []int{0, 1, 3} {
		s.nodes[id].post(fmt.Sprint(text, id))
		s.run(time.Second)
		s.want(fmt.Sprint(text, id), 0, 1, 3)
	}
	for _, id := range []int{4, 5} {
		if got := s.nodes[id].got; len(got) > 0 {
			t.Errorf("node %d got %.20q", id, got)
		}
	}
	first, keyless := s.nodes[0].agent.KeyStats(), s.nodes[5].agent.KeyStats()
	if first.Verified[0] == 0 || first.Verified[1] != 0 || first.NotSigned == 0 || keyless.NotSigned == 0 {
		t.Errorf("%+v, without a key %+v", first, keyless)
	}
	if st := s.nodes[0].group.Status(); !st.Multicast {
		t.Errorf("%+v", st)
	}
}

// TestKeysChange: during a key rotation some nodes sign with the new key and some with the old
// one, and all verify both.
func TestKeysChange(t *testing.T) {
	s := newStacks(t, 4, link.Quality{}, func(id int, agent *rmcast.Config, _ *rmcast.GroupConfig) {
		agent.Keys = []keyring.Keys{keys(t, "a", "b"), keys(t, "b", "a")}[id%2]
	})
	s.form(4)
	for _, k := range s.nodes {
		k.post(name(1, k.id))
	}
	s.run(time.Second)
	for _, k := range s.nodes {
		s.want(name(1, k.id), s.ids()...)
		if st := k.agent.KeyStats(); st.Verified[0] == 0 || st.Verified[1] == 0 || st.NotSigned > 0 {
			t.Errorf("node %d: %+v", k.id, st)
		}
	}
}

// TestKeyRotation: while the key changes from node to node in three steps, everything is
// delivered and nothing refused. The counters say which key verifies, and afterwards messages
// with the old key are dropped.
func TestKeyRotation(t *testing.T) {
	s := newStacks(t, 4, link.Quality{}, func(_ int, agent *rmcast.Config, _ *rmcast.GroupConfig) { agent.Keys = keys(t, "a") })
	s.form(4)
	seq := 0
	for _, letters := range [][]string{{"a", "b"}, {"b", "a"}, {"b"}} {
		for _, k := range s.nodes {
			if err := k.agent.SetKeys(keys(t, letters...)); err != nil {
				t.Fatal(err)
			}
			for _, from := range s.nodes {
				seq++
				from.post(fmt.Sprint(seq))
				s.run(100 * time.Millisecond)
				s.want(fmt.Sprint(seq), s.ids()...)
			}
		}
		last := s.nodes[3].agent.KeyStats()
		if last.Keys != len(letters) || last.Verified[0] == 0 || last.Verified[1] > 0 || last.NotSigned > 0 {
			t.Errorf("%v, the last node: %+v", letters, last)
		}
		if first := s.nodes[0].agent.KeyStats(); letters[0] == "b" && len(letters) == 2 && first.Verified[1] == 0 {
			t.Errorf("%v, the first node: %+v", letters, first)
		}
	}
	if err := s.nodes[3].agent.SetKeys(keys(t, "a")); err != nil {
		t.Fatal(err)
	}
	got := len(s.nodes[0].got)
	s.nodes[3].post("of the old key")
	s.run(time.Second)
	first, last := s.nodes[0].agent.KeyStats(), s.nodes[3].agent.KeyStats()
	if len(s.nodes[0].got) != got || first.NotSigned == 0 || last.NotSigned == 0 || last.Verified != [2]uint64{} {
		t.Errorf("the old key: got %q, %+v, %+v", s.nodes[0].got[got:], first, last)
	}
}

// TestKeysOnOff: SetKeys cannot change whether messages are signed.
func TestKeysOnOff(t *testing.T) {
	s := newStacks(t, 2, link.Quality{}, func(id int, agent *rmcast.Config, _ *rmcast.GroupConfig) {
		agent.Keys = []keyring.Keys{keys(t, "a"), {}}[id]
	})
	for id, k := range []keyring.Keys{{}, keys(t, "a")} {
		if err := s.nodes[id].agent.SetKeys(k); !errors.Is(err, keyring.ErrOnOff) || s.nodes[id].agent.KeyStats().Keys != 1-id {
			t.Errorf("node %d: %v, %+v", id, err, s.nodes[id].agent.KeyStats())
		}
	}
}

// TestUnsignedDatagram: with a key, a datagram that is not signed, or is signed for another
// group or by another sender, reaches no member.
func TestUnsignedDatagram(t *testing.T) {
	spec.Covers(t, "RM-37")
	ring := keys(t, "a").Ring("rmcast")
	s := newStacks(t, 4, link.Quality{}, func(_ int, agent *rmcast.Config, _ *rmcast.GroupConfig) { agent.Keys = keys(t, "a") })
	s.form(4)
	st := s.nodes[1].group.Status()
	d := wire.Datagram{Group: group, Version: st.Sending, Origin: st.Number, Length: 4, Seq: 1, Count: 1, Size: 4, Stable: 1, First: 1}
	plain := append(d.AppendTo(nil), "evil"...)
	marked := append([]byte(nil), plain...)
	marked[12] |= byte(wire.FlagSigned)
	self := simlnd.NID(1)
	for what, b := range map[string][]byte{
		"not signed": plain, "without a code": marked,
		"for another group":   ring.Append(append([]byte(nil), marked...), 0, keyring.Binding{}.NID(self).Number(uint64(group)+1)),
		"of another sender":   ring.Append(append([]byte(nil), marked...), 0, keyring.Binding{}.NID(simlnd.NID(2)).Number(uint64(group))),
		"as if to one member": ring.Append(append([]byte(nil), marked...), 0, keyring.Between(self, simlnd.NID(0))),
	} {
		before := s.nodes[0].agent.KeyStats().NotSigned
		s.cast(1, wire.DataPortal, b)
		if got := s.nodes[0]; got.agent.KeyStats().NotSigned != before+1 || len(got.got) > 0 {
			t.Errorf("%s: %+v, got %q", what, got.agent.KeyStats(), got.got)
		}
	}
	s.cast(1, wire.DataPortal, ring.Append(append([]byte(nil), marked...), 0, keyring.Binding{}.NID(self).Number(uint64(group))))
	if got := s.nodes[0].got; len(got) != 1 || got[0] != "evil" {
		t.Errorf("who has the key is not believed: %q", got)
	}
}

// TestUnsigned: wire.Unsigned returns a signed message as it was before it was signed.
func TestUnsigned(t *testing.T) {
	ring := keys(t, "a").Ring("rmcast")
	e := wire.Entry{Kind: wire.Ack, Origin: 1, Version: rmcast.Version{Epoch: 1, Counter: 1}, First: 1, Count: 1}
	o := wire.Order{Kind: wire.OrderJoin, Group: group, Incarnation: 3}
	d := wire.Datagram{Group: group, Version: e.Version, Origin: 1, Seq: 1, Stable: 1, First: 1}
	for portal, plain := range map[int][]byte{
		wire.DataPortal: d.AppendTo(nil), wire.ManagerPortal: o.AppendTo(nil),
		wire.ControlPortal: wire.AppendControl(nil, group, rmcast.Version{}, []wire.Entry{e}),
	} {
		if m, signed := wire.Unsigned(portal, plain); signed || string(m) != string(plain) {
			t.Errorf("portal %d: %x is signed", portal, m)
		}
		at := map[int]int{wire.DataPortal: 12, wire.ControlPortal: 12, wire.ManagerPortal: 7}[portal]
		b := append([]byte(nil), plain...)
		b[at] |= map[int]byte{wire.DataPortal: 8, wire.ControlPortal: 1, wire.ManagerPortal: 16}[portal]
		b = ring.Append(b, 0, keyring.Between(nid.NID{}, nid.NID{}))
		if m, signed := wire.Unsigned(portal, b); !signed || string(m) != string(plain) {
			t.Errorf("portal %d: %x, signed %v", portal, m, signed)
		}
		for i := range b { // every proper prefix of the message
			_, _ = wire.Unsigned(portal, b[:i])
		}
	}
}

// TestOtherProcess: a process of a node with another PID than the agents' does not become a
// member.
func TestOtherProcess(t *testing.T) {
	spec.Covers(t, "RM-38")
	s := newStacksAs(t, 3, link.Quality{}, map[int]nid.PID{2: 99}, nil)
	s.run(3 * time.Second)
	if n := s.nodes[0].agent.Strays(); n == 0 || s.members() != 2 {
		t.Errorf("%d strays, %d members", n, s.members())
	}
	s.nodes[0].post("x")
	s.run(time.Second)
	s.want("x", 0, 1)
}

// TestAdmitted: a node that is not among the admitted ones gets an error that says so, and the
// logs of both nodes say so.
func TestAdmitted(t *testing.T) {
	var logs [4]strings.Builder
	s := newStacks(t, 4, link.Quality{}, func(id int, agent *rmcast.Config, cfg *rmcast.GroupConfig) {
		agent.Log = slog.New(slog.NewTextHandler(&logs[id], nil))
		cfg.Admit = []nid.NID{simlnd.NID(1), simlnd.NID(2)}
	})
	s.run(3 * time.Second)
	if st := s.nodes[3].group.Status(); s.members() != 3 || !errors.Is(st.Refusal, rmcast.ErrStranger) || st.State != "joining" {
		t.Errorf("%d members, %+v", s.members(), st)
	}
	for _, id := range []int{0, 3} {
		if n := strings.Count(logs[id].String(), rmcast.ErrStranger.Error()); n != 1 {
			t.Errorf("node %d says so %d times:\n%s", id, n, logs[id].String())
		}
	}
	s.nodes[1].post("x")
	s.run(time.Second)
	s.want("x", 0, 1, 2)
}
