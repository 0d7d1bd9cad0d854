package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// messages lets time pass while this node has messages for the NIDs of a peer each second. As lnet does, it requests
// discoveries only while the peer is not published as up to date: then one for each NID, before the answer to the first
// of them. It returns the pings and pushes that the machine sends meanwhile.
func (b *bench) messages(until time.Duration, to ...nid.NID) (sent []Send) {
	b.t.Helper()
	for b.now < until {
		sent = append(sent, b.until(b.now+time.Second)...)
		if b.m.shown(b.m.peers.of(to[0])).UpToDate() {
			continue
		}
		for _, id := range to {
			b.step(discover(id))
			sent = append(sent, b.out.Sends...)
			if p := b.m.peers.of(id); !b.m.shown(p).UpToDate() || len(b.out.Done) != 1 || b.out.Done[0] != (Done{NID: id}) {
				b.t.Fatalf("at %v the message to %v is held: %v", b.now, id, b.did())
			}
		}
	}
	return sent
}

// TestNewsAfterSilence: this node's info changes while a peer is cut off, until the machine does not repeat the push
// of that info any more. The next message to the peer is sent without delay and makes the machine push again. As long
// as there is no ACK, messages cause further pushes: first the usual repetitions, then one in 96 s. The ACK ends
// that.
func TestNewsAfterSilence(t *testing.T) {
	spec.Covers(t, "PD-27", "NS-2")
	for name, news := range map[string]func(b *bench){
		"nothing waits": func(b *bench) { b.step(selfIs(3)) },
		"a call waits": func(b *bench) {
			b.step(selfIs(3))
			b.step(Input{Kind: Refresh, NID: them})
			b.until(3 * time.Second)
			b.step(b.reply(info(full, 2, them, also)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them, also)
			news(b)
			if b.until(time.Hour); len(b.open) > 0 {
				t.Fatalf("open: %v", b.open)
			}
			hour := b.now
			sent := b.messages(hour+1000*time.Second, also, them)
			if len(sent) < 9 || len(sent) > 11+maxRepeats || !sent[0].Push {
				t.Fatalf("messages in 1000 s cause %v", sent)
			}
			b.last = sent[len(sent)-1]
			b.step(b.ack())
			if sent := b.messages(b.now+1000*time.Second, also, them); len(sent) > 0 {
				t.Errorf("after the ACK: %v", sent)
			}
		})
	}
}

// TestQueuedNews: a peer with two NIDs lacks this node's latest info, and only a message to the peer makes the
// machine push it. Messages to both NIDs request discoveries while all slots are in use. Neither message waits.
func TestQueuedNews(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{MaxInFlight: 1})
	b.meet(them, also)
	b.step(selfIs(3))
	b.until(time.Hour)
	b.step(Input{Kind: Refresh, NID: other})
	for _, id := range []nid.NID{also, them} {
		b.step(discover(id))
		if len(b.out.Sends) > 0 || len(b.out.Done) != 1 || b.out.Done[0] != (Done{NID: id}) {
			t.Errorf("a message to %v causes %v", id, b.did())
		}
	}
}
