package engine

import (
	"fmt"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestClaimOfAnother (PD-19): a stranger claims NIDs that belong to another node, one of them as its
// primary NID. Each of these NIDs is pinged, and the NIDs stay with the node that they belong to.
func TestClaimOfAnother(t *testing.T) {
	spec.Covers(t, "PD-19")
	b := newBench(t, Limits{})
	b.meet(them, also)
	b.want(b.step(pushFrom(other, info(full, 9, them, other, also))),
		"10.0.0.3@tcp (10.0.0.2@tcp) (10.1.0.2@tcp1): MULTI_RAIL|DISCOVERING|NIDS_UPTODATE|PUSH_SENT",
		"push 10.0.0.3@tcp from 10.0.0.1@tcp", "ping 10.0.0.2@tcp 272", "ping 10.1.0.2@tcp1 272")
	b.settle(info(full, 2, them, also), info(full, 9, them, other, also))
	for id, want := range map[nid.NID]string{them: "[10.0.0.2@tcp 10.1.0.2@tcp1]", other: "[10.0.0.3@tcp]"} {
		p := b.m.peers.of(id)
		if got := fmt.Sprint(names(p.nis)); got != want || p.primary != id || !p.flags.UpToDate() {
			t.Errorf("%v has the NIDs %v, primary %v, flags %v; want %v", id, got, p.primary, p.flags, want)
		}
	}
	if s := b.m.Stats(); s.Denied != 2 || s.Confirmed != 1 || s.Probes != 3 {
		t.Errorf("counters %+v", s)
	}
}

// TestClaimOfLink (PD-19): a peer claims a NID with a link-local IPv6 address, which no node can dial. The NID is not
// probed and not listed with the peer. Claimed link-local IPv4 addresses, and other IPv6 addresses, are probed.
func TestClaimOfLink(t *testing.T) {
	spec.Covers(t, "PD-19")
	b := newBench(t, Limits{})
	b.meet(them)
	link, first, last := nid.MustParse("fe80::1@tcp"), nid.MustParse("fe80::@tcp"), nid.MustParse("febf:ffff::1@tcp")
	global, old := nid.MustParse("fec0::1@tcp"), nid.MustParse("169.254.0.1@tcp")
	b.step(pushFrom(them, info(full, 3, them, link, first, last, global, old)))
	p := b.m.peers.of(them)
	if got := fmt.Sprint(names(p.nis), names(p.claimed)); got != "[10.0.0.2@tcp] [fec0::1@tcp 169.254.0.1@tcp]" {
		t.Errorf("NIDs and claims %s", got)
	}
}

func names(nis []wire.NIStatus) (ids []nid.NID) {
	for _, ni := range nis {
		ids = append(ids, ni.NID)
	}
	return ids
}

// TestProbeAnswers checks which answers to a probe confirm that the NID belongs to the peer.
func TestProbeAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		in   Input
		want bool
	}{
		"it lists the peer":             {Input{Kind: Replied, Remote: also, Info: info(full, 2, also, them)}, true},
		"it does not":                   {Input{Kind: Replied, Remote: also, Info: info(full, 2, also, other)}, false},
		"it lists nothing":              {Input{Kind: Replied, Remote: also, Info: info(full, 2)}, false},
		"from the peer itself":          {Input{Kind: Replied, Remote: them, Info: info(full, 2, also, them)}, false},
		"from somebody else":            {Input{Kind: Replied, Remote: other, Info: info(full, 2, also, them)}, false},
		"from a user's process":         {Input{Kind: Replied, Remote: also, User: true, Info: info(full, 2, also, them)}, false},
		"not multi-rail":                {Input{Kind: Replied, Remote: also, Info: info(plain, 2, also, them)}, false},
		"its discovery is off":          {Input{Kind: Replied, Remote: also, Info: info(off, 2, also, them)}, false},
		"no info":                       {Input{Kind: Replied, Remote: also, Err: wire.ErrMagic, Info: info(full, 2, also, them)}, false},
		"cut after the peer":            {Input{Kind: Replied, Remote: also, Need: 400, Info: info(full, 2, also, them)}, true},
		"cut before the peer":           {Input{Kind: Replied, Remote: also, Need: 400, Info: info(full, 2, also)}, false},
		"not sent":                      {Input{Kind: Failed, Err: syscall.EHOSTUNREACH}, false},
		"an ACK, which is no answer":    {Input{Kind: Acked, Remote: also}, false},
		"a push, which was not asked":   {Input{Kind: Pushed, Remote: also, Known: true, Info: info(full, 2, also, them)}, false},
		"the peer's push, once more":    {Input{Kind: Pushed, Remote: them, Known: true, Info: info(full, 2, also, them)}, false},
		"another ping's answer, so far": {Input{Kind: Replied, Exchange: 1, Remote: also, Info: info(full, 2, also, them)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them)
			b.step(pushFrom(them, info(full, 3, them, also)))
			if c.in.Exchange == 0 && c.in.Kind != Pushed {
				c.in.Exchange = b.last.Exchange
			}
			c.in.Local = us
			b.step(c.in)
			if got := b.m.peers.of(also) == b.m.peers.of(them); got != c.want {
				t.Errorf("one peer: %v, want %v", got, c.want)
			}
		})
	}
}

// TestRailsMetBefore: both NIDs of a node were connected before the first ping, so that the machine knows two
// nodes. It takes them for one node when one NID has answered a ping, and the other NID has confirmed, in its
// answer to a probe, that both belong together.
func TestRailsMetBefore(t *testing.T) {
	b := newBench(t, Limits{})
	ours := b.m.self.NIDs
	b.step(Input{Kind: SelfIs, Self: Self{Sequence: 3, NIDs: ours}}) // this node announces that its discovery is off
	for _, id := range []nid.NID{them, also} {
		b.step(Input{Kind: Refresh, NID: id})
		b.step(b.reply(info(full, 2, them, also)))
	}
	if b.m.peers.of(them) == b.m.peers.of(also) {
		t.Fatal("one peer before anything was confirmed")
	}
	b.step(Input{Kind: SelfIs, Self: Self{Sequence: 4, NIDs: ours, Discovery: true}})
	b.step(discover(also))
	b.step(discover(them))
	b.settle(info(full, 2, them, also))
	p := b.m.peers.of(also)
	if p != b.m.peers.of(them) || p.primary != them || !p.flags.UpToDate() {
		t.Errorf("%v of %v, flags %v; want one peer", p.nis, p.primary, p.flags)
	}
	if s := b.m.Stats(); s.Confirmed != 1 {
		t.Errorf("counters %+v", s)
	}
}

// TestSequence (PD-20): an info that is older than the latest of the same incarnation is
// ignored, and an equal one is used. In a new incarnation numbers may start anywhere. This
// holds for pushes and REPLYs.
func TestSequence(t *testing.T) {
	spec.Covers(t, "PD-20")
	for name, c := range map[string]struct {
		incarnation uint64
		sequence    uint32
		taken       bool
	}{
		"newer":                   {7, 6, true},
		"equal":                   {7, 5, true},
		"older":                   {7, 4, false},
		"older, new incarnation":  {8, 2, true},
		"older, unknown which":    {0, 4, true},
		"oldest":                  {7, 0, false},
		"newest":                  {7, 1<<32 - 1, true},
		"equal, lost incarnation": {0, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []Kind{Pushed, Replied} {
				b := newBench(t, Limits{})
				first := pushFrom(them, info(full, 5, them))
				first.Incarnation = 7
				b.step(first)
				b.step(b.ack())
				if kind == Replied {
					b.step(Input{Kind: Refresh, NID: them})
				}
				in := Input{Kind: kind, Exchange: b.last.Exchange, Local: us, Remote: them, Known: true, Incarnation: c.incarnation}
				in.Info = info(full, c.sequence, them)
				in.Info.NIs[0].Status = wire.StatusDown
				b.step(in)
				b.settle(in.Info) // a node that has started again gets a push
				if got := b.m.peers.of(them).nis[0].Status == wire.StatusDown; got != c.taken {
					t.Errorf("kind %v: taken %v, want %v", kind, got, c.taken)
				}
				if s := b.m.Stats(); (s.OldInfos == 1) == c.taken || len(b.open) > 0 {
					t.Errorf("kind %v: counters %+v, %v is open", kind, s, b.open)
				}
			}
		})
	}
}

// TestLastSequenceOfAll: a node that has sent the highest sequence number can be heard again
// after a restart, with another incarnation.
func TestLastSequenceOfAll(t *testing.T) {
	b := newBench(t, Limits{})
	push := func(incarnation uint64, sequence uint32, ids ...nid.NID) {
		in := pushFrom(them, info(full, sequence, ids...))
		in.Incarnation = incarnation
		b.step(in)
		b.settle(info(full, sequence, ids...))
	}
	push(7, 1<<32-1, them, also)
	push(7, 3, them)
	if p := b.m.peers.of(them); len(p.nis) != 2 {
		t.Fatalf("knows %v after an old push", p.nis)
	}
	push(8, 3, them)
	if p := b.m.peers.of(them); len(p.nis) != 1 || b.m.peers.of(also) == p {
		t.Errorf("knows %v after a restart", p.nis)
	}
}

// TestRestart: a NID that has restarted may belong to another node now. It must confirm again
// that it belongs to the peer, whose other NIDs are not affected meanwhile.
func TestRestart(t *testing.T) {
	spec.Covers(t, "PD-23")
	b := newBench(t, Limits{})
	first := pushFrom(them, info(full, 5, them, also))
	first.Incarnation = 7
	b.step(first)
	b.settle(info(full, 5, them, also))
	again := pushFrom(them, info(full, 2, them, also))
	again.Incarnation = 8
	b.want(b.step(again), "10.0.0.2@tcp (10.1.0.2@tcp1): "+upToDate, "10.1.0.2@tcp1: "+upToDate, "ping 10.1.0.2@tcp1 272")
	b.want(b.step(b.reply(info(full, 2, them, also))), "10.0.0.2@tcp 10.1.0.2@tcp1: "+upToDate)
	again.Incarnation = 9
	again.Info = info(full, 2, them)
	b.want(b.step(again), "10.0.0.2@tcp: "+upToDate, "10.1.0.2@tcp1: "+upToDate)
}

// TestPushAfterRestart: the answer to a ping shows that a node has restarted. The node has forgotten this node, so
// it gets another push, even if a probe of another NID of that node shows the restart.
func TestPushAfterRestart(t *testing.T) {
	spec.Covers(t, "PD-12", "PD-23")
	for name, ids := range map[string][]nid.NID{"one NID": {them}, "two NIDs": {them, also}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			answer := func(incarnation uint64) {
				for pings := len(b.open); pings > 0; pings = len(b.open) {
					if b.last = b.open[0]; b.last.Push {
						b.step(b.ack())
						continue
					}
					in := b.reply(info(full, 2, ids...))
					in.Incarnation = incarnation
					b.step(in)
				}
			}
			b.step(discover(them))
			answer(7)
			before := b.m.Stats().Pushes
			b.step(Input{Kind: Refresh, NID: them})
			answer(7)
			if n := b.m.Stats().Pushes; n != before {
				t.Errorf("%d pushes to a node that knows this one", n-before)
			}
			b.step(Input{Kind: Refresh, NID: them})
			answer(8)
			if n := b.m.Stats().Pushes; n != before+1 {
				t.Errorf("%d pushes after the restart, want one", n-before)
			}
			if p := b.m.peers.of(them); len(p.nis) != len(ids) || !p.flags.UpToDate() {
				t.Errorf("knows %v, %v", p.nis, p.flags)
			}
		})
	}
}

// TestRestartWithoutIncarnation: a peer cannot conceal with incarnation 0 in its HELLO that
// the NID belongs to another host by now.
func TestRestartWithoutIncarnation(t *testing.T) {
	b := newBench(t, Limits{})
	first := pushFrom(them, info(full, 5, them, also))
	first.Incarnation = 7
	b.step(first)
	b.settle(info(full, 5, them, also))
	again := pushFrom(them, info(full, 6, them, also))
	again.Incarnation = 0
	b.want(b.step(again), "10.0.0.2@tcp (10.1.0.2@tcp1): "+upToDate, "10.1.0.2@tcp1: "+upToDate, "ping 10.1.0.2@tcp1 272")
}

// TestUserFlagged: infos from a process with a user-flagged PID about the node at its address
// are ignored, in pushes and in REPLYs.
func TestUserFlagged(t *testing.T) {
	spec.Covers(t, "PD-21")
	b := newBench(t, Limits{})
	push := pushFrom(them, info(full, 2, them, also))
	push.User = true
	b.want(b.step(push), []string{}...)
	b.step(discover(them))
	reply := b.reply(info(full, 2, them, also))
	reply.User = true
	b.want(b.step(reply), "10.0.0.2@tcp: DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 272")
	if s := b.m.Stats(); s.UserPushes != 1 || s.BadReplies != 1 {
		t.Errorf("counters %+v", s)
	}
}

// TestStrangeReply: a REPLY from another node than the pinged one is ignored.
func TestStrangeReply(t *testing.T) {
	b := newBench(t, Limits{})
	b.step(discover(them))
	reply := b.reply(info(full, 2, them, other))
	reply.Remote = other
	b.want(b.step(reply), "10.0.0.2@tcp: DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 272")
}

// TestMultiRailTakenBack (PD-15): a node that reports that it is not multi-rail any more gets
// no pushes, and its claims are dropped.
func TestMultiRailTakenBack(t *testing.T) {
	spec.Covers(t, "PD-15")
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(pushFrom(them, info(full, 2, them, also)))
	b.step(Input{Kind: Refresh, NID: them})
	b.want(b.step(b.reply(info(plain, 3, them, also))), "cancel", "10.0.0.2@tcp: NO_DISCOVERY|DISCOVERED|NIDS_UPTODATE", "done 10.0.0.2@tcp")
	b.want(b.step(selfIs(3)), []string{}...)
}

// TestNoPushWithoutDiscovery: a configured peer stays multi-rail when it has turned its discovery off, and gets no
// pushes.
func TestNoPushWithoutDiscovery(t *testing.T) {
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(Input{Kind: Configure, NID: them})
	b.step(Input{Kind: Refresh, NID: them})
	b.step(b.reply(info(off, 3, them)))
	if p := b.m.peers.of(them); !p.flags.Has(lnet.PeerMultiRail | lnet.PeerNoDiscovery) {
		t.Fatalf("flags %v", p.flags)
	}
	b.want(b.step(selfIs(3)), []string{}...)
}

// TestFailedAsksAgain: a peer whose discovery has failed is pinged again for the next
// message, no matter whether the peer was known before, and whether a ping or a push to it failed.
func TestFailedAsksAgain(t *testing.T) {
	fail := func(b *bench) { b.step(Input{Kind: Failed, Exchange: b.last.Exchange, Err: syscall.EIO}) }
	for name, prepare := range map[string]func(b *bench){
		"ping":                 func(b *bench) { b.step(discover(them)); fail(b) },
		"push":                 func(b *bench) { b.step(discover(them)); b.step(b.reply(info(full, 2, them))); fail(b) },
		"ping of a known peer": func(b *bench) { b.meet(them); b.step(Input{Kind: Refresh, NID: them}); fail(b) },
	} {
		b := newBench(t, Limits{})
		prepare(b)
		if len(b.open) > 0 {
			t.Fatalf("%s: %v is open", name, b.open)
		}
		b.step(discover(them))
		if len(b.open) != 1 {
			t.Errorf("%s: the next message asks by %v, want one ping or push", name, b.open)
		}
		b.settle(info(full, 2, them))
		if p := b.m.peers.of(them); len(b.out.Done) != 1 || b.out.Done[0].Err != nil || !p.flags.UpToDate() {
			t.Errorf("%s: ended with %v, flags %v", name, b.out.Done, p.flags)
		}
	}
}

// TestClaimsBounded: the number of claimed NIDs of all peers together is limited, and each peer may
// claim a few NIDs even when the limit is reached.
func TestClaimsBounded(t *testing.T) {
	b := newBench(t, Limits{MaxClaims: 100})
	for peer := range 20 {
		self := nid.MustParse(fmt.Sprintf("10.0.8.%d@tcp", peer+1))
		list := []nid.NID{self}
		for i := range 50 {
			list = append(list, nid.MustParse(fmt.Sprintf("10.%d.9.%d@tcp9", peer, i)))
		}
		b.step(pushFrom(self, info(full, 2, list...)))
		if n := len(b.m.peers.of(self).claimed); n < ownClaims || n > 50 {
			t.Errorf("peer %d has %d claims", peer, n)
		}
	}
	if b.m.claims != 100 {
		t.Errorf("%d claims above the first %d of each, want 100", b.m.claims, ownClaims)
	}
	if s := b.m.Stats(); s.ClaimsFull != 20*50-100-20*ownClaims {
		t.Errorf("counters %+v", s)
	}
}
