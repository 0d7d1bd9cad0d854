package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestSender: a message counts for the participant with the NID from which it came, whatever the primary NID of
// the node is, even that of another participant. If it came from a NID that is on no list, it counts for
// the participant with the primary NID. The answer goes to that participant's listed NID.
func TestSender(t *testing.T) {
	spec.Covers(t, "GO-55")
	const n = 5
	list := testList(t, n)
	other := nid.FromNumber(nid.MakeNet(nid.TCP, 7), 1)
	for name, c := range map[string]struct {
		from, primary nid.NID
		sender        int // -1: a stranger
	}{
		"one NID":                   {list.NID(3), list.NID(3), 3},
		"primary NID not confirmed": {list.NID(3), nid.NID{}, 3},
		"another primary NID":       {list.NID(3), other, 3},
		"another's primary NID":     {list.NID(3), list.NID(4), 3},
		"from another NID":          {other, list.NID(3), 3},
		"on no list":                {other, other, -1},
		"not confirmed, no list":    {other, nid.NID{}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, n, 0, nil)
			data := append(h.params(h.header()).AppendTo(nil), young(n, max(c.sender, 0))...)
			h.step(Input{Kind: Ping, From: c.from, Primary: c.primary, Data: data})
			if s := h.m.Stats(); c.sender < 0 {
				if s.Strangers != 1 || len(h.sends) > 0 {
					t.Errorf("%+v, sent %+v", s, h.sends)
				}
				return
			}
			if h.sent(true); h.sends[0].To != list.NID(c.sender) {
				t.Errorf("answered to %v", h.sends[0].To)
			}
			for i := 1; i < n; i++ {
				if age := h.m.ages.bytes[i]; (age < 2) != (i == c.sender) {
					t.Errorf("participant %d has the age %d", i, age)
				}
			}
		})
	}
}
