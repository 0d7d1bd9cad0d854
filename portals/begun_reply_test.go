package portals_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/portals"
)

// TestBegunReply (PT-29, PT-34): a REPLY has begun to arrive when the time for it is over. Its event follows when
// the driver no longer writes into the MD's memory: only then may a program use that memory. An MDUnlink
// waits for the driver, too.
func TestBegunReply(t *testing.T) {
	spec.Covers(t, "PT-29", "PT-34")
	type get = portals.GetRequest
	for name, c := range map[string]struct {
		get    get
		unlink bool
		err    error // error with which the driver ends the REPLY; nil: success
		want   []string
	}{
		"with a timeout":              {get{Timeout: 3 * time.Second}, false, nil, []string{"0s SEND", "1m0s REPLY"}},
		"with a timeout, cut":         {get{Timeout: 3 * time.Second}, false, syscall.ECONNRESET, []string{"0s SEND", "1m0s REPLY connection reset by peer"}},
		"with a timeout and unlinked": {get{Timeout: 3 * time.Second}, true, nil, []string{"0s SEND", "1m0s REPLY!"}},
		"tracked":                     {get{}, false, nil, []string{"0s SEND", "1m0s REPLY"}},
		"tracked and unlinked":        {get{}, true, syscall.ECONNRESET, []string{"0s SEND", "1m0s REPLY! connection reset by peer"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, net, clock := timed(t, lnet.Config{TransactionTimeout: 10 * time.Second}, lnd.Tunables{})
			var got []string
			c.get.MD = h.bind(portals.MD{
				Segments: []portals.Segment{make([]byte, 8)}, Threshold: inf,
				Handler: func(e *portals.Event) { got = append(got, fmt.Sprint(clock.now, " ", short(e))) },
			})
			c.get.Target = there
			if err := h.Get(c.get); err != nil {
				t.Fatal(err)
			}
			m := net.next()
			back := m.Header.Get().ReturnMD
			net.finalize(m, nil)
			reply := &lnd.Delivery{Header: replyHeader(8, back), From: there}
			if answer, err := net.up.Parse(reply); answer != lnd.Accept || err != nil || reply.Sink.Length != 8 {
				t.Fatalf("answer %v, %v", answer, err)
			}
			if c.unlink {
				if err := h.MDUnlink(c.get.MD); err != nil {
					t.Fatal(err)
				}
			}
			clock.advance(time.Minute)
			net.receive(reply, c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
