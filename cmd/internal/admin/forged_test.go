package admin

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// replaceBy replaces the service of a server that has no children in the tree by one that sends a
// given reply to each request.
func (s *servers) replaceBy(i int, reply []byte) {
	s.t.Helper()
	agent := s.nodes[i].agent
	s.fabric.Do(sim.NodeID(i), func(*simHost) {
		agent.UnregisterService(ServiceID)
		err := agent.RegisterService(scoll.Service{
			ID: ServiceID, Inline: true,
			PreRequest:      func(*scoll.Request) error { return nil },
			IncomingRequest: func(*scoll.Request) error { return nil },
			PostReply:       func(r *scoll.Request) { _ = r.Reply(reply) },
		})
		if err != nil {
			s.t.Error(err)
		}
	})
}

// TestForgedPieces: a member's answer counts only if it has at most one piece for each node of the
// member's own subtree. A member that puts answers of other nodes into its reply, or two of its own,
// is missing in the outcome, and the answers of all other members, the root included, are their own.
func TestForgedPieces(t *testing.T) {
	// In the binomial tree of eight members with root 0, node 7 is a child of 6, 6 a child of 4, and
	// 4 the first child of 0.
	const liar, parent = 7, 6
	for _, test := range []struct {
		name  string
		names []int
	}{
		{"the root", []int{liar, 0}},
		{"its parent", []int{liar, parent}},
		{"a member of another subtree", []int{1, liar}},
		{"a member of its grandparent's subtree", []int{5}},
		{"itself twice", []int{liar, liar}},
		{"a node outside the group", []int{liar, 99}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServers(t, 8, nil)
			var reply []byte
			for _, i := range test.names {
				a := Answer{Version: Version, Status: scoll.EBUSY}
				reply = scoll.AppendPiece(reply, nidOf(i), a.AppendTo(nil))
			}
			s.replaceBy(liar, reply)
			o := s.send(0, s.group(0), Order{Verb: Run, Action: "none", Timeout: time.Second}) // answers to an action have room for many short pieces
			want := map[nid.NID]bool{}
			for i := range liar {
				want[nidOf(i)] = true
			}
			for _, p := range o.Answers {
				if !want[p.NID] || p.Status != enoent {
					t.Errorf("%v answered %v", p.NID, p.Status)
				}
				delete(want, p.NID)
			}
			if len(want) > 0 {
				t.Errorf("no answers of %v", want)
			}
			if n := s.nodes[parent].admin.Stats().BadPieces; n != 1 {
				t.Errorf("the parent counted %d bad answers", n)
			}
		})
	}
}

// TestForgedID: a member that got a request sends another command with the same id, in the root's name, before the
// genuine request arrives. The genuine request does not get the answer to that command.
func TestForgedID(t *testing.T) {
	var m memo
	request := func(action string) []byte { return (&Request{ID: ID{1}, Verb: Run, Name: action}).AppendTo(nil) }
	forged := m.of(nidOf(1), nidOf(0), request("forged"), false)
	if m.of(nidOf(0), nidOf(0), request("true"), false) == forged {
		t.Error("the answer to another request is used")
	}
}

// put sends a message that the agent of a server has not made.
func (s *servers) put(from, to int, message []byte) {
	s.t.Helper()
	s.fabric.Do(sim.NodeID(from), func(*simHost) {
		md, err := s.nodes[from].table.MDBind(portals.MD{Segments: [][]byte{message}, Threshold: 1}, portals.Unlink)
		if err == nil {
			target := nid.ProcessID{NID: nidOf(to), PID: nid.LustrePID}
			err = s.nodes[from].table.Put(portals.PutRequest{MD: md, Target: target, Portal: wire.RequestPortal})
		}
		if err != nil {
			s.t.Error(err)
		}
	})
	s.run(time.Second)
}

// forward returns the first request of node 0 over its first group, as each node would forward it to the next one if the
// tree was a chain.
func (s *servers) forward(payload []byte) []byte {
	list, incarnation := s.members.AppendTo(nil), s.nodes[0].host.LNetIncarnation()
	h := wire.RequestHeader{
		ReplyBits: 5555, Sequence: 1, First: 1, RootIncarnation: incarnation, Service: ServiceID, Flags: wire.FlagList | wire.FlagSubset,
		Group: scoll.GroupID{Creator: nidOf(0), Incarnation: incarnation, Index: 1, Digest: s.members.Digest()}, Live: s.members.Digest(),
		Tree: scoll.Tree{Type: scoll.KAry, K: 1}, Nodes: uint32(s.members.Len()), RTT: time.Millisecond, Guard: time.Millisecond,
		Processing: time.Second, ListSize: uint32(len(list)), PayloadSize: uint32(len(payload)),
	}
	return slices.Concat(h.AppendTo(nil), list, payload)
}

// TestForwardedByOther: a member that may not forward actions or questions for clients, or whose NID proves nothing, sends a request
// of the root to another member before the genuine request arrives. The other member does not do what it asks for then, but does
// when the genuine request arrives, from a parent that may forward it.
func TestForwardedByOther(t *testing.T) {
	const forger, victim = 5, 6 // node 6 is a child of 4 in the binomial tree with root 0
	allowed := func(_, parent nid.NID) bool { return parent != nidOf(forger) }
	distrusted := func(nids ...nid.NID) func(*Config) {
		return func(c *Config) {
			c.Distrust = func(id nid.NID) string {
				if slices.Contains(nids, id) {
					return "accept: trust"
				}
				return ""
			}
		}
	}
	run := Order{Verb: Run, Action: "true", Live: true, Timeout: time.Minute}
	for _, test := range []struct {
		name   string
		order  Order
		change func(*Config)
	}{
		{"not allowed", run, func(c *Config) { c.MayAct = allowed }},
		{"without identity", run, distrusted(nidOf(forger))},
		{"root without identity", run, distrusted(nidOf(forger), nidOf(0))},
		{"clients", Order{Verb: Clients, Live: true, Room: 100, Timeout: time.Minute}, func(c *Config) { c.MayAsk = allowed }},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServers(t, 8, func(i int, admin *Config, _ *scoll.Config) {
				admin.Actions = map[string]Action{"true": {Run: []string{"/bin/true"}, Timeout: time.Minute}}
				admin.MayAsk = func(nid.NID, nid.NID) bool { return true }
				admin.Clients = func([]byte, int) ([]byte, scoll.Status) { return nil, scoll.OK }
				if i == victim {
					test.change(admin)
				}
			})
			c := s.nodes[0].admin.newCall(t.Context(), test.order)
			s.put(forger, victim, s.forward(c.request.AppendTo(nil)))
			if st := s.nodes[victim].admin.Stats(); st.Actions != 0 || st.Denied+st.Distrusted != 1 {
				t.Fatalf("the request of another member: %+v", st)
			}
			s.allAnswered(s.sendCall(0, s.group(0), test.order, c), scoll.OK)
			if st := s.nodes[victim].admin.Stats(); test.order.Verb == Run && st.Actions != 1 {
				t.Errorf("the genuine request: %+v", st)
			}
		})
	}
}
