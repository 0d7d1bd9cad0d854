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
			h.ni.peer(nid.ProcessID{NID: nid.FromNumber(h.ni.nid.Net(), 0x0B000000+uint32(i)), PID: nid.LustrePID})
		}
		h.ni.mu.Lock()
		full := h.ni.peers
		h.ni.mu.Unlock()
		<-time.After(time.Minute)
		h.ni.mu.Lock()
		defer h.ni.mu.Unlock()
		if len(h.ni.peers) != 0 || h.ni.most != 0 {
			t.Errorf("%d peers, most %d, a minute after %d", len(h.ni.peers), h.ni.most, crowd)
		}
		full[h.id()] = nil
		if len(h.ni.peers) != 0 {
			t.Error("the table is the one that the crowd has filled")
		}
	})
}
