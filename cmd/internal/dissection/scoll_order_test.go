package dissection

import (
	"testing"

	"ulnet/cmd/internal/admin"
	"ulnet/scoll/wire"
)

// TestOrder: requests to the administration service of lnetd are explained, and those to other
// services are not.
func TestOrder(t *testing.T) {
	payload := func(q admin.Request) []byte {
		q.Version, q.Answer = admin.Version, 100
		return q.AppendTo(nil)
	}
	own := wire.RequestHeader{Service: admin.ServiceID}
	run := payload(admin.Request{Verb: admin.Run, Name: "up\x1b", Limit: 1500, Text: []byte("a text that is longer than what is shown")})
	for _, test := range []struct {
		name    string
		header  wire.RequestHeader
		payload []byte
		want    string
	}{
		{"ping", own, payload(admin.Request{Verb: admin.Ping}), "lnetd ping"},
		{"an action", own, run, `lnetd run "up\x1b" within 1.5s, text of 40 bytes "a text that is longer than what " …`},
		{"another service", wire.RequestHeader{Service: 7}, run, ""},
		{"the module's own", wire.RequestHeader{Service: admin.ServiceID, Flags: wire.FlagModule}, nil, ""},
		{"nonsense", own, run[:20], ""},
	} {
		if got := order(&test.header, test.payload); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
