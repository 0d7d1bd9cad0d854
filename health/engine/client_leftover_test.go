package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// leftover returns a client that has given up the server other than its master, because that
// server did not answer for T_orphan.
func leftover(t *testing.T) *clientHarness {
	t.Helper()
	h := newClientHarness(t, me, otherA)
	h.settled()
	h.step(ClientInput{Kind: Detach, Server: h.other()})
	h.want("dropped", wire.Disconnect)
	return h
}

// TestLateAccept: CH-A8, goal G-CH-3: a server accepts a connect after the client has given that
// server up. That server may believe that it is the master, and would then evict the client
// everywhere. So the client tells that server which server is the master, repeats the message until the
// server answers, and then disconnects.
func TestLateAccept(t *testing.T) {
	spec.Covers(t, "CH-A8", "G-CH-3")
	h := leftover(t)
	other := h.other()
	h.from(other, wire.Message{Kind: wire.Accept, Epoch: h.c.epoch - 1})
	for range 3 { // the server does not answer these connects
		if h.step(ClientInput{}); len(h.sent) > 0 {
			t.Fatalf("%v at once", h.sent)
		}
		for len(h.sent) == 0 {
			if h.now = h.wake; h.now > time.Hour+h.c.cfg.Orphan {
				t.Fatal("it is not told")
			}
			h.step(ClientInput{})
			if len(h.sent) == 1 && h.sent[0].Kind == wire.Ping {
				h.answer(0, wire.Message{Kind: wire.Pong, ServerIncarnation: 7})
			}
		}
		h.want("", wire.Choose)
		if h.to[0] != other || h.sent[0].Server != h.c.master {
			t.Fatalf("%+v to %v", h.sent[0], h.to[0])
		}
	}
	h.answer(0, wire.Message{Kind: wire.Chosen})
	h.want("", wire.Disconnect)
	if h.now-time.Hour > h.c.cfg.Evict-h.c.cfg.Ping {
		t.Errorf("three times take %v", h.now-time.Hour)
	}
}

// TestLateChosen: a client gives up a server that turns out to be merely slow. When that server
// learns the client's master, from the client or from other servers, and reports that, the
// client disconnects from it.
func TestLateChosen(t *testing.T) {
	h := leftover(t)
	other := h.other()
	h.from(other, wire.Message{Kind: wire.Chosen, Epoch: h.c.epoch})
	h.want("", wire.Disconnect)
	h.from(other, wire.Message{Kind: wire.Notice, Code: wire.OtherMaster, Epoch: h.c.epoch, Server: h.c.master})
	h.want("", wire.Disconnect)

	h = newClientHarness(t, me, otherA) // the server knows an earlier choice of the client
	h.settled()
	h.c.epoch++
	h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.OtherMaster, Epoch: h.c.epoch - 1, Server: h.c.master})
	h.want("", wire.Choose)
	h.answer(0, wire.Message{Kind: wire.Chosen})
	h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.OtherMaster, Epoch: h.c.epoch, Server: h.c.master})
	h.want("")
}

// TestRemindedWhileConnecting: a server's notice that it knows the client's master also counts
// as its answer to the client's connect.
func TestRemindedWhileConnecting(t *testing.T) {
	h := newClientHarness(t, me, otherA, otherB)
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
	other := h.other()
	h.step(ClientInput{Kind: Attach, Server: other})
	h.want("", wire.Connect)
	h.from(other, wire.Message{Kind: wire.Notice, Code: wire.OtherMaster, Epoch: h.c.epoch, Server: h.c.master})
	h.want("attached")
	if p := h.c.known(other); p.asking {
		t.Error("it goes on asking")
	}
}

// TestLateAcceptRefuses: a server accepts a connect so late that the client does not know of the
// connection, and this server believes that the client's master is dead. The client tells this
// server its next master, too.
func TestLateAcceptRefuses(t *testing.T) {
	h := newClientHarness(t, me, otherA, otherB)
	master := h.settled()
	h.now += 2 * time.Second
	late := otherA
	if late == master {
		late = otherB
	}
	h.step(ClientInput{Kind: Detach, Server: late})
	h.from(late, wire.Message{Kind: wire.Chosen, Epoch: h.c.epoch - 1})
	h.want("", wire.Choose)
	h.answer(0, wire.Message{Kind: wire.Chosen, Code: wire.MasterDead})
	if h.told != "master-lost:master-dead" {
		t.Fatalf("told %q", h.told)
	}
	h.answer(0, wire.Message{Kind: wire.Chosen})
	for i, m := range h.sent {
		if h.to[i] == late && m.Kind == wire.Choose {
			h.answer(i, wire.Message{Kind: wire.Chosen})
			h.want("", wire.Disconnect)
			return
		}
	}
	t.Errorf("sent %v to %v", h.sent, h.to)
}

// TestReminded: a restarted server sends a notice that it knows the client's master. The notice
// counts as an answer to a client that has asked whether it is connected, even shortly before
// the client gives the server up.
func TestReminded(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	master, other := h.settled(), h.other()
	h.step(ClientInput{Kind: Doubt, Server: other})
	h.want("", wire.Choose)
	for h.now < time.Hour+h.c.cfg.Orphan-time.Second {
		h.now = h.wake
		h.step(ClientInput{})
		h.from(master, wire.Message{Kind: wire.Pong, ServerIncarnation: 7})
	}
	h.from(other, wire.Message{Kind: wire.Notice, Code: wire.OtherMaster, Epoch: h.c.epoch, Server: master})
	for h.now < time.Hour+2*h.c.cfg.Orphan {
		h.now = h.wake
		if h.step(ClientInput{}); h.told != "" {
			t.Fatalf("told %q", h.told)
		}
		h.from(master, wire.Message{Kind: wire.Pong, ServerIncarnation: 7})
	}
}
