package socklnd

import (
	"testing"
	"time"

	"ulnet/lnet/nid"
)

// TestTableOfCrowd: when many peers have come and gone, the table of peers frees their memory.
func TestTableOfCrowd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		const crowd = 5000
		for i := range crowd {
			h.ni.peers.Get(nid.ProcessID{NID: nid.FromNumber(h.ni.nid.Net(), 0x0B000000+uint32(i)), PID: nid.LustrePID})
		}
		<-time.After(time.Minute)
		if n := len(h.ni.peers.All()); n != 0 {
			t.Errorf("%d peers a minute after %d", n, crowd)
		}
	})
}
