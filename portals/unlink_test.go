package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestUnlink (PT-7, PT-17) checks the event with which an MD ends.
func TestUnlink(t *testing.T) {
	spec.Covers(t, "PT-7", "PT-17")
	opPut := portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut}
	for name, c := range map[string]struct {
		run  func(h *harness, md portals.MD) error
		want []string
	}{
		"idle, by MDUnlink": {func(h *harness, md portals.MD) error {
			_, handle := h.post(5, portals.Match{}, md)
			return h.MDUnlink(handle)
		}, []string{"UNLINK!"}},
		"idle, by MEUnlink": {func(h *harness, md portals.MD) error {
			me, _ := h.post(5, portals.Match{}, md)
			return h.MEUnlink(me)
		}, []string{"UNLINK!"}},
		"used, by MDUnlink": {func(h *harness, md portals.MD) error {
			_, handle := h.post(5, portals.Match{}, md)
			h.sendMessage(message{length: 1})
			return h.MDUnlink(handle)
		}, []string{"PUT", "UNLINK!"}},
		"exhausted, automatic": {func(h *harness, md portals.MD) error {
			md.Threshold = 1
			h.post(5, portals.Match{}, md)
			h.sendMessage(message{length: 1})
			return nil
		}, []string{"PUT!"}},
		"in its handler": {unlinkInHandler, []string{"PUT", "UNLINK!"}},
		"operation under way": {func(h *harness, md portals.MD) error {
			if err := h.SetLazy(5); err != nil {
				return err
			}
			md.Options = 0
			source := h.bind(md)
			if err := h.Put(portals.PutRequest{MD: source, Target: h.self, Portal: 5}); err != nil {
				return err
			}
			if err := h.MDUnlink(source); err != nil { // the lazy portal holds the PUT, so the SEND event has not come yet
				return err
			}
			return h.ClearLazy(5)
		}, []string{"SEND!"}},
		"sends to itself": {sendToItself, []string{"PUT", "PUT", "PUT", "PUT", "UNLINK!"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			var events log
			md := opPut
			md.Handler = events.handle
			if err := c.run(h, md); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, events.take()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// unlinkInHandler unlinks an MD in the handler of its first event.
func unlinkInHandler(h *harness, md portals.MD) error {
	var handle portals.MDHandle
	inner, depth := md.Handler, 0
	md.Handler = func(e *portals.Event) {
		inner(e)
		if depth++; depth > 1 {
			h.t.Error("handler runs inside itself")
		}
		if e.Kind == portals.EventPut {
			if err := h.MDUnlink(handle); err != nil {
				h.t.Error(err)
			}
		}
		depth--
	}
	_, handle = h.post(5, portals.Match{}, md)
	h.sendMessage(message{length: 1})
	if err := h.MDUnlink(handle); !errors.Is(err, syscall.ENOENT) {
		h.t.Errorf("second unlink: %v", err)
	}
	return nil
}

// sendToItself makes the handler of an MD send to that MD.
func sendToItself(h *harness, md portals.MD) error {
	inner, left := md.Handler, 3
	var source portals.MDHandle
	md.Options |= portals.ManageRemote
	md.Handler = func(e *portals.Event) {
		inner(e)
		if left--; left >= 0 && e.Kind == portals.EventPut {
			if err := h.Put(portals.PutRequest{MD: source, Target: h.self, Portal: 5}); err != nil {
				h.t.Error(err)
			}
		}
	}
	_, target := h.post(5, portals.Match{}, md)
	source = h.bind(portals.MD{Segments: md.Segments, Threshold: inf})
	h.sendMessage(message{length: 1})
	return h.MDUnlink(target)
}

// TestRetainedME: a retained ME stays when its MD ends, and can get another MD.
func TestRetainedME(t *testing.T) {
	h := newHarness(t)
	me, err := h.MEAttach(5, portals.Match{}, portals.Retain, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	var events log
	for range 2 {
		_, err := h.MDAttach(me, portals.MD{
			Segments: []lnd.Segment{make([]byte, 1)}, Threshold: 1, Options: portals.OpPut, Handler: events.handle,
		}, portals.Unlink)
		if err != nil {
			t.Fatal(err)
		}
		h.sendMessage(message{length: 1})
	}
	if diff := cmp.Diff([]string{"PUT!", "PUT!"}, events.take()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if err := h.MEUnlink(me); err != nil {
		t.Error(err)
	}
}

// TestHandlesAreNotReused (PT-19): handles are not reused, although their slots are.
func TestHandlesAreNotReused(t *testing.T) {
	spec.Covers(t, "PT-19")
	h := newHarness(t)
	mds, mes := make(map[portals.MDHandle]bool), make(map[portals.MEHandle]bool)
	const rounds = 1000
	for i := range rounds {
		md := h.bind(portals.MD{Threshold: 1})
		me, _ := h.post(i%3, portals.Match{}, portals.MD{Threshold: 1, Options: portals.OpPut})
		mds[md], mes[me] = true, true
		if err := errors.Join(h.MDUnlink(md), h.MEUnlink(me)); err != nil {
			t.Fatal(err)
		}
	}
	if len(mds) != rounds || len(mes) != rounds {
		t.Errorf("%d MD handles and %d ME handles in %d rounds", len(mds), len(mes), rounds)
	}
}

// TestAbortedWhileQueued (PT-18): a PUT that waits for credit when its MD is unlinked
// fails with ECANCELED, and so does a REPLY.
func TestAbortedWhileQueued(t *testing.T) {
	spec.Covers(t, "PT-18")
	table, net := newWire(t)
	h := &harness{Table: table, t: t}
	filler := h.bind(portals.MD{Threshold: inf})
	const credits = 8
	for range credits {
		if err := table.Put(portals.PutRequest{MD: filler, Target: there}); err != nil {
			t.Fatal(err)
		}
	}
	var put, get log
	source := h.bind(portals.MD{Threshold: 2, Handler: put.handle})
	if err := table.Put(portals.PutRequest{MD: source, Ack: true, Target: there}); err != nil {
		t.Fatal(err)
	}
	_, target := h.post(0, portals.Match{}, portals.MD{Threshold: inf, Options: portals.OpGet, Handler: get.handle})
	if err := net.arrive(getHeader(wire.GetCmd{ReturnMD: handle(1)}), nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(table.MDUnlink(source), table.MDUnlink(target)); err != nil {
		t.Fatal(err)
	}
	if len(put.events)+len(get.events) != 0 {
		t.Fatalf("events before the queue moved: %v %v", put.take(), get.take())
	}
	net.finalize(net.next(), nil)
	for _, l := range []*log{&put, &get} {
		if len(l.events) != 1 || !errors.Is(l.events[0].Err, syscall.ECANCELED) || !l.events[0].Unlinked {
			t.Errorf("events %+v", l.events)
		}
	}
}
