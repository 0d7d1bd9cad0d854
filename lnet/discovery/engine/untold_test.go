package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// messages lets time pass while this node has a message for a NID each second. As lnet does, it requests a discovery only
// while the peer is not published as up to date. It returns the pings and pushes that the machine sends meanwhile.
func (b *bench) messages(to nid.NID, until time.Duration) (sent []Send) {
	b.t.Helper()
	for b.now < until {
		sent = append(sent, b.until(b.now+time.Second)...)
		if p := b.m.peers.of(to); !b.m.shown(p).UpToDate() {
			b.step(discover(to))
			sent = append(sent, b.out.Sends...)
			if len(b.out.Peers) != 1 || !b.out.Peers[0].Flags.UpToDate() {
				b.t.Fatalf("at %v the message is held: %v", b.now, b.did())
			}
		}
	}
	return sent
}

// TestNewsAfterSilence: a peer is cut off until the machine does not repeat the push of this node's news any more. The next
// message to the peer is sent without delay and makes the machine push again. As long as there is no ACK, messages cause a
// push in 96 s, after the usual repetitions. The ACK ends that.
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
			sent := b.messages(also, hour+1000*time.Second)
			if len(sent) < 9 || len(sent) > 11+maxRepeats || !sent[0].Push {
				t.Fatalf("messages in 1000 s cause %v", sent)
			}
			b.last = sent[len(sent)-1]
			b.step(b.ack())
			if sent := b.messages(also, b.now+1000*time.Second); len(sent) > 0 {
				t.Errorf("after the ACK: %v", sent)
			}
		})
	}
}
