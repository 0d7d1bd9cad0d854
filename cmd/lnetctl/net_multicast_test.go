package main

import (
	"encoding/json"
	"testing"

	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// TestNetShowMulticast: net show prints the multicast groups of an NI, and with -v all about
// multicast.
func TestNetShowMulticast(t *testing.T) {
	m := &drivers.Multicast{Port: 10988, MulticastLimits: lnd.MulticastLimits{MaxPayload: 1392, ReceiveBuffer: 8192}, Sent: 1, SentBytes: 2, Received: 3, ReceivedBytes: 4, Missed: 5}
	groups := []lnet.GroupSnapshot{{Group: 7, NID: nid.MustParse("239.76.0.7@tcp"), Members: 2}}
	const group = `"groups":[{"group":7,"nid":"239.76.0.7@tcp","members":2}]`
	const rest = `"port":10988,"max_payload":1392,"receive_buffer":8192,"sent":1,"sent_bytes":2,"received":3,"received_bytes":4,"missed":5}`
	for _, tt := range []struct {
		name   string
		groups []lnet.GroupSnapshot
		has    *drivers.Multicast
		level  int
		want   string
	}{
		{"nothing joined", nil, m, 0, `null`},
		{"joined", groups, m, 0, `{` + group + `}`},
		{"joined, -v", groups, m, 1, `{` + group + `,` + rest},
		{"nothing joined, -v", nil, m, 1, `{` + rest},
		{"no multicast, -v", nil, nil, 1, `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ni := node.NIStatus{NISnapshot: lnet.NISnapshot{NID: nid.MustParse("10.0.0.1@tcp"), Groups: tt.groups}}
			ni.LND.Multicast = tt.has
			nets := node.NetTree(node.Status{NIs: []node.NIStatus{ni}}, tt.level, udsp.List{})
			got, err := json.Marshal(nets[0].NIs[0].Multicast)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}
