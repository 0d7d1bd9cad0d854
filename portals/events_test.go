package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestOrderOverLoopback (PT-25) checks LNet's order of events on 0@lo.
func TestOrderOverLoopback(t *testing.T) {
	spec.Covers(t, "PT-25")
	for name, c := range map[string]struct {
		get       bool
		ack       bool
		options   portals.MDOption // options of the target's MD
		threshold int              // threshold of the initiator's MD
		want      []string
		drops     map[string]uint64
	}{
		"put":                        {threshold: 1, want: []string{"target PUT", "SEND!"}},
		"put, ack":                   {ack: true, threshold: 2, want: []string{"target PUT", "SEND", "ACK!"}},
		"put, ack, threshold left":   {ack: true, threshold: 3, want: []string{"target PUT", "SEND", "ACK"}},
		"put, no threshold for ack":  {ack: true, threshold: 1, want: []string{"target PUT", "SEND!"}, drops: map[string]uint64{"stale handle": 1}},
		"put, ack disabled":          {ack: true, threshold: 2, options: portals.AckDisable, want: []string{"target PUT", "SEND"}},
		"get":                        {get: true, threshold: 2, want: []string{"SEND", "REPLY!", "target GET"}},
		"get, no threshold for data": {get: true, threshold: 1, want: []string{"SEND!", "target GET"}, drops: map[string]uint64{"stale handle": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			var got []string
			h.post(5, portals.Match{}, portals.MD{
				Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut | portals.OpGet | c.options,
				Handler: func(e *portals.Event) { got = append(got, "target "+e.Kind.String()) },
			})
			md := h.bind(portals.MD{
				Segments: []lnd.Segment{make([]byte, 8)}, Threshold: c.threshold,
				Handler: func(e *portals.Event) { got = append(got, kinds([]portals.Event{*e})...) },
			})
			var err error
			if c.get {
				err = h.Get(portals.GetRequest{MD: md, Target: h.self, Portal: 5})
			} else {
				err = h.Put(portals.PutRequest{MD: md, Ack: c.ack, Target: h.self, Portal: 5})
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if c.drops == nil {
				c.drops = map[string]uint64{}
			}
			if diff := cmp.Diff(c.drops, h.drops()); diff != "" {
				t.Errorf("drops (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailedSend (PT-15): failures of the network are reported by events, never by errors of
// the call; no ACK follows, and an MD with threshold left is kept.
func TestFailedSend(t *testing.T) {
	spec.Covers(t, "PT-15")
	for name, c := range map[string]struct {
		target nid.ProcessID
		self   nid.NID
		want   error
	}{
		"no route":       {nid.ProcessID{NID: nid.MustParse("1.1.1.1@tcp5")}, nid.NID{}, syscall.EHOSTUNREACH},
		"nobody":         {nid.ProcessID{}, nid.NID{}, syscall.EINVAL},
		"foreign source": {there, nid.MustParse("10.0.0.77@tcp"), syscall.EINVAL},
	} {
		table, _ := newWire(t)
		var events log
		md, err := table.MDBind(portals.MD{Threshold: 2, Handler: events.handle}, portals.Unlink)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Put(portals.PutRequest{Self: c.self, MD: md, Ack: true, Target: c.target}); err != nil {
			t.Errorf("%s: Put: %v", name, err)
		}
		if len(events.events) != 1 || !errors.Is(events.events[0].Err, c.want) || events.events[0].Unlinked {
			t.Errorf("%s: events %+v, want SEND with %v", name, events.events, c.want)
		}
		if err := table.MDUnlink(md); err != nil {
			t.Errorf("%s: unlink: %v", name, err)
		}
	}
}

// TestEventBytes: Bytes returns the bytes that the operation moved, by the offset and length in its event, also
// across segments. For SEND and ACK events it returns none.
func TestEventBytes(t *testing.T) {
	pieces := []lnd.Segment{[]byte("abc"), nil, []byte("defg")}
	for name, c := range map[string]struct {
		event portals.Event
		want  string
	}{
		"whole":         {portals.Event{Kind: portals.EventPut, MLength: 7}, "abcdefg"},
		"one segment":   {portals.Event{Kind: portals.EventReply, MLength: 2, Offset: 1}, "bc"},
		"across":        {portals.Event{Kind: portals.EventGet, MLength: 3, Offset: 2}, "cde"},
		"none":          {portals.Event{Kind: portals.EventPut, Offset: 7}, ""},
		"SEND":          {portals.Event{Kind: portals.EventSend, MLength: 7, Offset: 1}, ""},
		"ACK":           {portals.Event{Kind: portals.EventAck, MLength: 7}, ""},
		"more than fit": {portals.Event{Kind: portals.EventPut, MLength: 1<<32 - 1, Offset: 3}, "defg"},
	} {
		c.event.Segments = pieces
		if got := string(c.event.Bytes()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
