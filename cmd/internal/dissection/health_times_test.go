package dissection

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	healthwire "ulnet/health/wire"
	"ulnet/lnet/nid"
)

// TestHealthTimes: timeouts, retry times, incarnations and epochs share fields of messages. The
// timeouts that clients and servers exchange are shown as timeouts. Messages of older versions
// carry no timeouts, and none are shown for them.
func TestHealthTimes(t *testing.T) {
	id, server := healthwire.ClientIDOf("a"), nid.MustParse("10.0.0.1@tcp")
	about := "client " + id.String() + " incarnation 5"
	for _, test := range []struct {
		m                       healthwire.Message
		text, detail, has, lack string
	}{
		{
			healthwire.Message{Kind: healthwire.Connect, Epoch: 3, Server: server, Retry: 5 * time.Second, ServerIncarnation: 12500},
			"health connect, " + about + ", epoch 3, master 10.0.0.1@tcp, pings every 5s, finds another master within 12.5s",
			"epoch 3, T_ping 5s, T_client + T_elect 12.5s", `"server_life":"0","sequence":"0","epoch":3,"ping_ms":5000,"found_ms":12500`, "retry_ms",
		},
		{
			healthwire.Message{Kind: healthwire.Choose, Epoch: 3, Server: server, Retry: 5 * time.Second, ServerIncarnation: 1<<64 - 1},
			"health choose, " + about + ", epoch 3, new master 10.0.0.1@tcp, pings every 5s, finds another master within 1193h2m47.295s",
			"T_ping 5s", `"ping_ms":5000`, "retry_ms",
		},
		{
			healthwire.Message{Kind: healthwire.Connect, Epoch: 3, Server: server, Proof: make([]byte, 12)},
			"health connect, " + about + ", epoch 3, master 10.0.0.1@tcp, signed", "retry after 0s", `"signed":true`, "ping_ms",
		},
		{
			healthwire.Message{Kind: healthwire.Connect, Epoch: 3, Server: server, ServerIncarnation: 7},
			"health connect, " + about + ", epoch 3, master 10.0.0.1@tcp", "server's incarnation 7, epoch 3, retry after 0s", `"server_life":"7"`, "ping_ms",
		},
		{
			healthwire.Message{Kind: healthwire.Accept, Epoch: 3, ServerIncarnation: 9, Retry: 17500 * time.Millisecond},
			"health accept ok, " + about + ", epoch 3, evicts after 17.5s", "server's incarnation 9, epoch 3, T_evict 17.5s", `"evict_ms":17500`, "retry_ms",
		},
		{
			healthwire.Message{Kind: healthwire.Chosen, Epoch: 3, Server: server, Retry: 17500 * time.Millisecond},
			"health chosen ok, " + about + ", epoch 3, master 10.0.0.1@tcp, evicts after 17.5s", "T_evict 17.5s", `"evict_ms":17500`, "retry_ms",
		},
		{
			healthwire.Message{Kind: healthwire.Reject, Code: healthwire.OtherTimes, Epoch: 3500, ServerIncarnation: 9, Server: server, Retry: time.Second},
			"health reject other-times, " + about + ", master 10.0.0.1@tcp, evicts after 3.5s",
			"server's incarnation 9, T_evict 3.5s, retry after 1s", `"epoch":0,"retry_ms":1000,"evict_ms":3500`, "ping_ms",
		},
		{
			healthwire.Message{Kind: healthwire.Reject, Code: healthwire.Busy, Epoch: 3, Server: server, Retry: time.Second},
			"health reject busy, " + about + ", epoch 3, master 10.0.0.1@tcp, come back after 1s", "retry after 1s", `"retry_ms":1000`, "evict_ms",
		},
	} {
		test.m.Client, test.m.Incarnation = id, 5
		m := &healthMessage{Message: test.m}
		if got := m.Summary(); got != test.text {
			t.Errorf("%s\nwant %s", got, test.text)
		}
		if got := m.Details()[0]; !strings.Contains(got, test.detail) {
			t.Errorf("%s\nwant %s", got, test.detail)
		}
		text, err := json.Marshal(m)
		if err != nil || !strings.Contains(string(text), test.has) || strings.Contains(string(text), test.lack) {
			t.Errorf("%s, %v\nwant %s without %s", text, err, test.has, test.lack)
		}
	}
}
