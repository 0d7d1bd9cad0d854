package discovery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestNewsAfterCut: B is cut off while A gets another NI, and for some minutes after that. When A sends to B again, the
// message arrives, and B learns of the new NI. If B acknowledges no push, messages to it are not held, and few of them cause
// a push.
func TestNewsAfterCut(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "PD-27")
	for name, acks := range map[string]bool{"B acknowledges": true, "B acknowledges nothing": false} {
		t.Run(name, func(t *testing.T) {
			w, clock, a, b, _ := newRails(t)
			port := w.ports[nid.MustParse(nidB)]
			delete(w.ports, port.id)
			a.add("10.0.0.102@tcp")
			clock.advance(w, 400*time.Second)
			w.ports[port.id] = port
			if !acks {
				w.refuse = func(m *lnd.Message) error {
					if describe(&m.Header) == nidB+" ACK" {
						return errUnplugged
					}
					return nil
				}
			}
			before := a.agent.Stats().Pushes
			var got []string
			for range 200 {
				a.put(nidB, 10)
				w.settle()
				got = append(got, nidA+" 10")
				clock.advance(w, time.Second)
			}
			if len(b.got) != len(got) {
				t.Errorf("%d of %d messages arrived", len(b.got), len(got))
			}
			pushes := a.agent.Stats().Pushes - before
			if most := uint64(2 + 5); !acks && pushes > most || acks && pushes != 1 {
				t.Errorf("%d pushes", pushes)
			}
			if known := fmt.Sprint(b.table.Node().Peer(nid.MustParse(nidA)).NIs); !strings.Contains(known, "10.0.0.102@tcp") {
				t.Errorf("B knows A as %v", known)
			}
		})
	}
}
