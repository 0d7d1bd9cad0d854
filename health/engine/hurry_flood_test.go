package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// electionMessages returns how many messages a client without a master sends in 90 s. All servers refuse it for lack
// of a quorum. With notices, each of them also tells it in every sixth of T_orphan that it is an orphan.
func electionMessages(t *testing.T, notices bool) (sent int) {
	var servers []nid.NID
	for _, last := range "12345678" {
		servers = append(servers, nid.MustParse("10.0.0."+string(last)+"@tcp"))
	}
	h := newClientHarness(t, servers...)
	h.from(h.settled(), wire.Message{Kind: wire.Notice, Code: wire.NoQuorum})
	next, n := h.now, 0
	for end := h.now + 90*time.Second; h.now < end; {
		if h.now = h.wake; notices && h.now >= next {
			h.now, next = next, next+h.c.cfg.Orphan/6/time.Duration(len(servers))
			h.from(servers[n%len(servers)], wire.Message{Kind: wire.Notice, Code: wire.Orphaned})
			n++
			continue
		}
		for h.step(ClientInput{}); len(h.sent) > 0; {
			sent++
			h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.NoQuorum})
		}
	}
	return sent
}

// TestNoticesMultiplyNothing: CH-A14, CH-A19: notices of servers without a quorum make a client ask each server at
// most once more per back-off, and do not end the back-off.
func TestNoticesMultiplyNothing(t *testing.T) {
	spec.Covers(t, "CH-A14", "CH-A19")
	quiet, told := electionMessages(t, false), electionMessages(t, true)
	if quiet < 20 || told > 2*quiet {
		t.Errorf("%d messages with notices, %d without", told, quiet)
	}
}

// TestNoInvitation: CH-36, CH-A19: a server without a quorum refuses orphans, so it does not tell them to choose a
// master either.
func TestNoInvitation(t *testing.T) {
	spec.Covers(t, "CH-36", "CH-A19")
	h := newHarness(t, func(c *ServerConfig) { c.Quorum = time.Hour })
	h.connect(5, otherA, 1)
	orphanA(h)
	h.step(ServerInput{Kind: QuorumIs})
	h.words()
	h.advance(2 * h.s.cfg.Orphan)
	h.want("")
	h.wantState("orphaned 5 10.0.0.2@tcp/1")
}

// TestHurryKeepsSuggestion: CH-A19: the master has named the server to ask next. A notice of another server does not
// replace it, since no round of the election has ended yet.
func TestHurryKeepsSuggestion(t *testing.T) {
	h := newClientHarness(t, me, otherA, otherB)
	master := h.settled()
	suggested, third := nid.NID{}, nid.NID{}
	for _, id := range h.c.cfg.Servers {
		if id != master {
			suggested, third = id, suggested
		}
	}
	h.from(master, wire.Message{Kind: wire.Notice, Code: wire.Draining, Server: suggested})
	h.from(third, wire.Message{Kind: wire.Notice, Code: wire.Orphaned, Server: master})
	if got := h.c.election.prefer; got != suggested {
		t.Errorf("%v is asked first, not %v", got, suggested)
	}
}
