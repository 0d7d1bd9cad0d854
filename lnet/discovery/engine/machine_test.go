package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

var (
	us    = nid.MustParse("10.0.0.1@tcp")
	them  = nid.MustParse("10.0.0.2@tcp")
	also  = nid.MustParse("10.1.0.2@tcp1") // another NID of the node at them
	more  = nid.MustParse("10.2.0.2@tcp2") // a third NID of the node at them
	other = nid.MustParse("10.0.0.3@tcp")

	ours = []nid.NID{us, nid.MustParse("10.1.0.1@tcp1"), nid.MustParse("10.2.0.1@tcp2")}
)

const upToDate = "MULTI_RAIL|DISCOVERED|NIDS_UPTODATE"

// TestAsking (PD-5) plays the exchange of two nodes that do not know each other. The machine is that of the
// node that has a message for the other one.
func TestAsking(t *testing.T) {
	spec.Covers(t, "PD-5")
	b := newBench(t, Limits{})
	b.want(b.step(discover(them)), "10.0.0.2@tcp: DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 272")
	b.want(b.step(b.reply(info(full, 2, them))),
		"10.0.0.2@tcp: MULTI_RAIL|DISCOVERING|NIDS_UPTODATE|PUSH_SENT", "push 10.0.0.2@tcp from 10.0.0.1@tcp")
	b.want(b.step(b.ack()), "10.0.0.2@tcp: "+upToDate, "done 10.0.0.2@tcp")
	if flags := b.out.Peers[0].Flags; flags != 273 || !flags.UpToDate() {
		t.Errorf("flags %d, want 273, as the kernel prints", flags)
	}
	// The push of the other node comes last, after the message of this one. It causes no further exchange.
	b.want(b.step(pushFrom(them, info(full, 2, them))), "10.0.0.2@tcp: "+upToDate)
	b.want(b.step(discover(them)), "10.0.0.2@tcp: "+upToDate, "done 10.0.0.2@tcp")
	if b.wake != machine.Never {
		t.Errorf("wakes at %v with nothing under way", b.wake)
	}
}

// TestAnswering plays the exchange of TestAsking with the machine of the node that is pinged. That node does
// not ping.
func TestAnswering(t *testing.T) {
	b := newBench(t, Limits{})
	b.want(b.step(pushFrom(them, info(full, 2, them))),
		"10.0.0.2@tcp: MULTI_RAIL|DISCOVERING|NIDS_UPTODATE|PUSH_SENT", "push 10.0.0.2@tcp from 10.0.0.1@tcp")
	b.want(b.step(discover(them)), "10.0.0.2@tcp: MULTI_RAIL|DISCOVERING|NIDS_UPTODATE|PUSH_SENT")
	b.want(b.step(b.ack()), "10.0.0.2@tcp: "+upToDate, "done 10.0.0.2@tcp")
}

// TestPushWhilePushing: the peer's push may arrive before its ACK of our push. The machine uses the info in
// it at once.
func TestPushWhilePushing(t *testing.T) {
	b := newBench(t, Limits{})
	b.step(discover(them))
	b.step(b.reply(info(full, 2, them)))
	ack := b.ack()
	b.want(b.step(pushFrom(them, info(full, 3, them, also))),
		"10.0.0.2@tcp (10.1.0.2@tcp1): MULTI_RAIL|DISCOVERING|NIDS_UPTODATE|PUSH_SENT", "ping 10.1.0.2@tcp1 272")
	b.want(b.step(ack), "10.0.0.2@tcp (10.1.0.2@tcp1): MULTI_RAIL|DISCOVERING|NIDS_UPTODATE")
	b.want(b.step(b.reply(info(full, 3, them, also))), "10.0.0.2@tcp 10.1.0.2@tcp1: "+upToDate, "done 10.0.0.2@tcp")
}

// row is a row of the table of states in the comment of Machine: prepare brings a peer into the state,
// and the input in must then have the outputs want.
type row struct {
	prepare func(b *bench)
	in      func(b *bench) Input
	want    []string
}

var rows = map[string]row{
	"MARK_DELETION": {
		func(b *bench) { b.meet(them, also) },
		func(*bench) Input { return pushFrom(them, info(off, 3, them, also)) },
		[]string{"gone 10.0.0.2@tcp", "gone 10.1.0.2@tcp1"},
	},
	"MARK_DELETION, awaited": {
		func(b *bench) {
			b.meet(them, also)
			b.step(Input{Kind: Refresh, NID: also})
			b.settle(info(full, 3, them, also))
			b.m.peers.of(also).flags |= lnet.PeerMarkDeletion | lnet.PeerDiscovering
			b.m.peers.of(also).await(also)
		},
		func(*bench) Input { return discover(also) },
		[]string{"gone 10.0.0.2@tcp", "gone 10.1.0.2@tcp1", "10.1.0.2@tcp1: DISCOVERING|PING_SENT", "ping 10.1.0.2@tcp1 272"},
	},
	"DATA_PRESENT": {
		func(b *bench) { b.meet(them) },
		func(*bench) Input { return pushFrom(them, info(full, 3, them, also)) },
		[]string{"10.0.0.2@tcp (10.1.0.2@tcp1): " + upToDate, "ping 10.1.0.2@tcp1 272"},
	},
	"PING_FAILED": {
		func(b *bench) { b.step(discover(them)) },
		func(b *bench) Input { return Input{Kind: Failed, Exchange: b.last.Exchange, Err: syscall.ECONNREFUSED} },
		[]string{"10.0.0.2@tcp: FORCE_PING", "done 10.0.0.2@tcp: connection refused"},
	},
	"PING_FAILED by bad data": {
		func(b *bench) { b.step(discover(them)) },
		func(b *bench) Input {
			return Input{Kind: Replied, Exchange: b.last.Exchange, Local: us, Remote: them, Err: wire.ErrMagic}
		},
		[]string{"10.0.0.2@tcp: DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 272"},
	},
	"PUSH_FAILED": {
		func(b *bench) { b.step(discover(them)); b.step(b.reply(info(full, 2, them))) },
		func(b *bench) Input { return Input{Kind: Failed, Exchange: b.last.Exchange, Err: syscall.EIO} },
		[]string{"10.0.0.2@tcp: MULTI_RAIL|NIDS_UPTODATE", "done 10.0.0.2@tcp: input/output error"},
	},
	"FORCE_PING": {
		func(b *bench) { b.meet(them) },
		func(*bench) Input { return Input{Kind: Refresh, NID: them, Force: true} },
		[]string{"10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|DISCOVERING|PING_SENT|FORCE_PUSH", "ping 10.0.0.2@tcp 272"},
	},
	"FORCE_PING by a bad push": {
		func(b *bench) { b.meet(them) },
		func(*bench) Input {
			return Input{Kind: Pushed, Local: us, Remote: them, Known: true, Err: wire.ErrMagic}
		},
		[]string{"10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 272"},
	},
	"FORCE_PUSH": {
		func(b *bench) { b.meet(them); b.step(Input{Kind: Refresh, NID: them, Force: true}) },
		func(b *bench) Input { return b.reply(info(full, 2, them)) },
		[]string{"10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|NIDS_UPTODATE|PUSH_SENT", "push 10.0.0.2@tcp from 10.0.0.1@tcp"},
	},
	"FORCE_PUSH to a single-rail peer": {
		func(b *bench) { b.step(Input{Kind: Refresh, NID: them, Force: true}) },
		func(b *bench) Input { return b.reply(info(plain, 2, them)) },
		[]string{"10.0.0.2@tcp: NO_DISCOVERY|DISCOVERED|NIDS_UPTODATE", "done 10.0.0.2@tcp"},
	},
	"NIDs not up to date": {
		func(b *bench) { b.meet(them) },
		func(*bench) Input { return Input{Kind: Refresh, NID: them} },
		[]string{"10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 272"},
	},
	"discovered, and knows us": {
		func(b *bench) { b.meet(them); b.step(Input{Kind: Refresh, NID: them}) },
		func(b *bench) Input { return b.reply(info(full, 2, them)) },
		[]string{"10.0.0.2@tcp: " + upToDate, "done 10.0.0.2@tcp"},
	},
	"needs our push": {
		func(b *bench) { b.meet(them) },
		func(*bench) Input {
			return Input{Kind: SelfIs, Self: Self{Sequence: 3, NIDs: ours, Discovery: true}}
		},
		[]string{"10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|NIDS_UPTODATE|PUSH_SENT", "push 10.0.0.2@tcp"},
	},
}

// TestRows (PD-9, PD-11) checks the effect of each row of the table of states.
func TestRows(t *testing.T) {
	spec.Covers(t, "PD-9", "PD-11")
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			c.prepare(b)
			b.want(b.step(c.in(b)), c.want...)
		})
	}
}

// TestSingleRail (PD-12): nodes without MULTI_RAIL or DISCOVERY get no push, and each of
// their NIDs remains a peer of its own.
func TestSingleRail(t *testing.T) {
	spec.Covers(t, "PD-12")
	for name, features := range map[string]wire.Features{"classic": plain, "discovery off": off} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.step(discover(also))
			b.want(b.step(b.reply(info(features, 2, them, also))),
				"10.1.0.2@tcp1: NO_DISCOVERY|DISCOVERED|NIDS_UPTODATE", "done 10.1.0.2@tcp1")
			b.want(b.step(discover(also)), "10.1.0.2@tcp1: NO_DISCOVERY|DISCOVERED|NIDS_UPTODATE", "done 10.1.0.2@tcp1")
		})
	}
}

// TestBadInfo (PD-9) gives the machine infos with each possible error, in a REPLY and in a push. A
// bad push causes a ping; after a bad REPLY the ping is repeated, a limited number of times.
func TestBadInfo(t *testing.T) {
	spec.Covers(t, "PD-9")
	crowd := make([]nid.NID, 200)
	for i := range crowd {
		crowd[i] = nid.MustParse(fmt.Sprintf("10.9.0.%d@tcp%d", i, i))
	}
	for name, c := range map[string]struct {
		in   Input
		want error
	}{
		"magic":             {Input{Err: wire.ErrMagic}, syscall.EPROTO},
		"no NI_STATUS":      {Input{Err: wire.ErrNIStatus}, syscall.EPROTO},
		"no lo":             {Input{Err: wire.ErrNoLo}, syscall.EPROTO},
		"too short":         {Input{Err: &wire.TruncatedError{Size: 32}}, syscall.EPROTO},
		"impossible number": {Input{Err: wire.ErrNICount}, syscall.ERANGE},
		"201 NIs":           {Input{Info: info(full, 2, crowd...)}, syscall.ERANGE},
		"larger than 200 NIs": {
			Input{Info: info(full, 2, them), Need: NewMachine(Limits{}).MaxInfoSize() + 1}, syscall.ERANGE,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.step(discover(them))
			in := c.in
			in.Kind, in.Local, in.Remote = Replied, us, them
			for range maxBadInfos {
				if len(b.out.Sends) != 1 {
					t.Fatalf("no ping, but %+v", b.out)
				}
				in.Exchange = b.last.Exchange
				b.step(in)
			}
			if len(b.out.Done) != 1 || !errors.Is(b.out.Done[0].Err, c.want) {
				t.Errorf("ended with %v, want %v", b.out.Done, c.want)
			}
			in.Kind, in.Known, in.Remote = Pushed, true, other
			b.want(b.step(in), "10.0.0.3@tcp: DISCOVERING|PING_SENT", "ping 10.0.0.3@tcp 272")
			if s := b.m.Stats(); s.BadReplies != maxBadInfos || s.BadPushes != 1 {
				t.Errorf("counters %+v", s)
			}
		})
	}
}

// TestCutInfo (PD-10): an info that was larger than the buffer is requested again with enough
// room.
func TestCutInfo(t *testing.T) {
	spec.Covers(t, "PD-10")
	b := newBench(t, Limits{})
	b.step(discover(them))
	cut := b.reply(info(full, 2, them))
	cut.Need = 400
	b.want(b.step(cut), "10.0.0.2@tcp: MULTI_RAIL|DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 400")
	b.step(b.reply(info(full, 2, them)))
	b.step(b.ack())
	push := pushFrom(them, info(full, 3, them))
	push.Need = 500
	b.want(b.step(push), "10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 500")
	b.want(b.step(b.reply(info(full, 3, them, also))), "10.0.0.2@tcp (10.1.0.2@tcp1): "+upToDate, "ping 10.1.0.2@tcp1 500")
	if s := b.m.Stats(); s.CutInfos != 2 {
		t.Errorf("counters %+v", s)
	}
}

// TestRefusedPushes (PD-8): pushes of unknown nodes and of nodes that are not multi-rail change
// nothing and are counted.
func TestRefusedPushes(t *testing.T) {
	spec.Covers(t, "PD-8")
	b := newBench(t, Limits{})
	unknown := pushFrom(other, info(full, 2, other))
	unknown.Known = false
	b.want(b.step(unknown), []string{}...)
	b.want(b.step(pushFrom(us, info(full, 2, us))), []string{}...)
	b.want(b.step(pushFrom(them, info(plain, 2, them))), []string{}...)
	b.want(b.step(Input{Kind: Acked, Exchange: 77}), []string{}...)
	want := Stats{PushesReceived: 3, UnknownPushes: 2, PlainPushes: 1, Late: 1}
	if diff := cmp.Diff(want, b.m.Stats()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// TestMerge (PD-14) checks which NIDs belong to which peer after an info has been merged.
func TestMerge(t *testing.T) {
	spec.Covers(t, "PD-14")
	for name, c := range map[string]struct {
		prepare func(b *bench)
		in      wire.PingInfo // ping info that the peer pushes
		want    []string      // NIDs of the peer after the answers to probes have confirmed its claims
	}{
		"NIDs come and go": {
			func(b *bench) { b.meet(them, also) },
			info(full, 3, them, more),
			[]string{"gone 10.1.0.2@tcp1", "10.0.0.2@tcp 10.2.0.2@tcp2: " + upToDate},
		},
		"another primary": {
			func(b *bench) { b.meet(them, also) },
			info(full, 3, also, them),
			[]string{"10.1.0.2@tcp1 10.0.0.2@tcp: " + upToDate},
		},
		"the NID that answers stays": {
			func(b *bench) { b.meet(them, also) },
			info(full, 3, also),
			[]string{"10.1.0.2@tcp1 10.0.0.2@tcp: " + upToDate},
		},
		"a known primary takes over": {
			func(b *bench) { b.meet(also, more); b.meet(them) },
			info(full, 3, also, them),
			[]string{"10.1.0.2@tcp1 10.0.0.2@tcp: " + upToDate, "10.2.0.2@tcp2: " + upToDate},
		},
		"a NID of another peer": {
			func(b *bench) { b.meet(also, more); b.meet(them) },
			info(full, 3, them, more),
			[]string{"10.0.0.2@tcp 10.2.0.2@tcp2: " + upToDate, "10.1.0.2@tcp1: " + upToDate},
		},
		"the primary NID of another peer": {
			func(b *bench) { b.meet(also, more); b.meet(them) },
			info(full, 3, them, also),
			[]string{"10.0.0.2@tcp 10.1.0.2@tcp1: " + upToDate, "10.2.0.2@tcp2: " + upToDate},
		},
		"ours, lo, twice": {
			func(b *bench) { b.meet(them) },
			info(full, 3, us, nid.Lo0(), them, them, nid.NID{}, also),
			[]string{"10.0.0.2@tcp 10.1.0.2@tcp1: " + upToDate},
		},
		"nobody": {
			func(b *bench) { b.meet(them, also) },
			info(full, 3),
			[]string{"10.0.0.2@tcp 10.1.0.2@tcp1: " + upToDate},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			c.prepare(b)
			did := b.step(pushFrom(them, c.in))
			if len(b.open) > 0 { // answer the machine's pings with the same info
				did = slices.DeleteFunc(did, func(line string) bool { return !strings.HasPrefix(line, "gone") })
				did = append(did, b.step(b.reply(c.in))...)
			}
			slices.Sort(did)
			slices.Sort(c.want)
			b.want(did, c.want...)
		})
	}
}

// TestMergeWaiting: a message waits for the discovery of a NID, and then an answer shows that the NID
// belongs to a peer that the machine knows already. The machine reports the end of the discovery.
func TestMergeWaiting(t *testing.T) {
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(discover(also))
	b.want(b.step(pushFrom(them, info(full, 3, them, also))),
		"10.0.0.2@tcp (10.1.0.2@tcp1): "+upToDate, "ping 10.1.0.2@tcp1 272")
	b.want(b.step(b.reply(info(full, 3, them, also))),
		"cancel", "10.0.0.2@tcp 10.1.0.2@tcp1: "+upToDate, "done 10.1.0.2@tcp1")
}

// TestRouter (PD-16): a node that routes is marked as a router.
func TestRouter(t *testing.T) {
	spec.Covers(t, "PD-16")
	b := newBench(t, Limits{})
	b.step(discover(them))
	b.step(b.reply(info(full&^wire.FeatureRoutingDisabled, 2, them)))
	if flags := b.out.Peers[0].Flags; !flags.Has(lnet.PeerRouter) {
		t.Errorf("flags %v", flags)
	}
}

// TestOwnNID: a NID that is now one of this node's own is taken from the peer that had it before. A peer without
// another NID is forgotten.
func TestOwnNID(t *testing.T) {
	spec.Covers(t, "PD-14")
	b := newBench(t, Limits{})
	b.meet(them, also)
	b.meet(other)
	in := selfIs(3)
	in.Self.NIDs = append(slices.Clone(ours), also, other)
	b.step(in)
	if b.m.peers.of(also) != nil || b.m.peers.of(other) != nil || !slices.Contains(b.out.Gone, also) || !slices.Contains(b.out.Gone, other) {
		t.Errorf("gone %v", b.out.Gone)
	}
	if p := b.m.peers.of(them); p == nil || len(p.nis) != 1 || p.nis[0].NID != them {
		t.Errorf("the peer is %+v", p)
	}
}
