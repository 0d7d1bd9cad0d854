package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// bench steps a machine and describes its outputs as lines.
type bench struct {
	t    *testing.T
	m    *Machine
	now  time.Duration
	wake time.Duration
	out  Output
	last Send   // the latest ping or push that the machine has sent
	open []Send // pings and pushes that have no answer yet
}

func newBench(t *testing.T, limits Limits) *bench {
	t.Helper()
	b := &bench{t: t, m: NewMachine(limits)}
	b.step(selfIs(2))
	return b
}

// selfIs returns the input that describes this node, which has an NI on each net.
func selfIs(sequence uint32) Input {
	return Input{Kind: SelfIs, Self: Self{Sequence: sequence, NIDs: ours, Discovery: true}}
}

// step returns the outputs of the machine as lines: "ping TO ROOM", "push TO FROM", "done NID
// ERROR", "gone NID", "cancel", and "PRIMARY NIDs (CLAIMED): FLAGS" of peers.
func (b *bench) step(in Input) []string {
	b.t.Helper()
	b.out.Reset()
	b.wake = b.m.Step(b.now, in, &b.out)
	if err := b.m.invariants(); err != nil {
		b.t.Fatal(err)
	}
	b.open = slices.DeleteFunc(b.open, func(s Send) bool {
		return s.Exchange == in.Exchange || slices.Contains(b.out.Cancelled, s.Exchange)
	})
	b.open = append(b.open, b.out.Sends...)
	return b.did()
}

func (b *bench) did() []string {
	did := []string{}
	for range b.out.Cancelled {
		did = append(did, "cancel")
	}
	for _, id := range b.out.Gone {
		did = append(did, fmt.Sprintf("gone %v", id))
	}
	for _, p := range b.out.Peers {
		var ids []string
		for _, ni := range p.NIs {
			ids = append(ids, ni.NID.String())
		}
		for _, ni := range p.Claimed {
			ids = append(ids, "("+ni.NID.String()+")")
		}
		did = append(did, fmt.Sprintf("%v: %v", strings.Join(ids, " "), p.Flags))
	}
	for _, d := range b.out.Done {
		line := fmt.Sprintf("done %v", d.NID)
		if d.Err != nil {
			line += ": " + d.Err.Error()
		}
		did = append(did, line)
	}
	for _, s := range b.out.Sends {
		b.last = s
		if s.Push {
			did = append(did, strings.TrimRight(fmt.Sprintf("push %v %v", s.To, from(s)), " "))
		} else {
			did = append(did, fmt.Sprintf("ping %v %d", s.To, s.Room))
		}
	}
	return did
}

func from(s Send) string {
	if !s.From.IsValid() {
		return ""
	}
	return "from " + s.From.String()
}

func (b *bench) want(did []string, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, did); diff != "" {
		b.t.Errorf("the machine did (-want +got):\n%s", diff)
	}
}

const (
	plain = wire.FeatureNIStatus | wire.FeatureRoutingDisabled
	off   = plain | wire.FeatureMultiRail
	full  = off | wire.FeatureDiscovery
)

func info(f wire.Features, sequence uint32, ids ...nid.NID) wire.PingInfo {
	p := wire.PingInfo{Features: f, PID: nid.LustrePID, Sequence: sequence}
	for _, id := range ids {
		p.NIs = append(p.NIs, wire.NIStatus{NID: id, Status: wire.StatusUp})
	}
	return p
}

func discover(id nid.NID) Input { return Input{Kind: Discover, NID: id} }

// reply returns the REPLY to the latest ping of the machine, with the ping info i.
func (b *bench) reply(i wire.PingInfo) Input {
	return Input{Kind: Replied, Exchange: b.last.Exchange, Local: us, Remote: b.last.To, Info: i}
}

// ack returns the ACK of the latest push of the machine.
func (b *bench) ack() Input {
	return Input{Kind: Acked, Exchange: b.last.Exchange, Local: us, Remote: b.last.To, Sequence: b.m.self.Sequence}
}

func pushFrom(id nid.NID, i wire.PingInfo) Input {
	return Input{Kind: Pushed, Local: us, Remote: id, Known: true, Info: i}
}

// meet plays the discovery of a multi-rail node that has the NIDs ids, until the machine knows all of
// them as the node's own.
func (b *bench) meet(ids ...nid.NID) {
	b.t.Helper()
	b.step(discover(ids[0]))
	b.settle(info(full, 2, ids...))
	if p := b.m.peers.of(ids[0]); len(p.nis) != len(ids) || !p.flags.UpToDate() {
		b.t.Fatalf("meeting %v ended with %v, %v", ids, p.nis, p.flags)
	}
}

// settle answers the open pings and pushes of the machine, and those that follow. Each info in infos
// stands for a node, which answers at each NID that the info lists, with that info. Pings and pushes to
// other NIDs stay open.
func (b *bench) settle(infos ...wire.PingInfo) {
	b.t.Helper()
	for i := 0; i < len(b.open); {
		s := b.open[i]
		at := slices.IndexFunc(infos, func(p wire.PingInfo) bool { return listed(p.NIs, s.To) })
		switch {
		case at < 0:
			i++
		case s.Push:
			b.step(Input{Kind: Acked, Exchange: s.Exchange, Local: us, Remote: s.To, Sequence: b.m.self.Sequence})
		default:
			b.step(Input{Kind: Replied, Exchange: s.Exchange, Local: us, Remote: s.To, Info: infos[at]})
		}
	}
}
