package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestCallErrors: the errno of every call.
func TestCallErrors(t *testing.T) {
	table, _ := newWire(t)
	h := &harness{Table: table, t: t}
	opPut := portals.MD{Threshold: 1, Options: portals.OpPut}
	me, attached := h.post(1, portals.Match{}, opPut)
	h.post(2, portals.Match{ID: there, Bits: 1}, opPut)
	retained, err := table.MEAttach(3, portals.Match{}, portals.Retain, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	idle := h.bind(portals.MD{Threshold: 1})
	exhausted := h.bind(portals.MD{})
	gone := h.bind(portals.MD{Threshold: 1})
	goneME, _ := h.post(4, portals.Match{}, opPut)
	freed, err := table.NewEQ(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(table.MDUnlink(gone), table.MEUnlink(goneME), freed.Free()); err != nil {
		t.Fatal(err)
	}
	long := make([]byte, 1<<20+1)
	meAttach := func(portal int, m portals.Match, pos portals.InsertPosition) error {
		_, err := table.MEAttach(portal, m, portals.Unlink, pos)
		return err
	}
	mdAttach := func(me portals.MEHandle, md portals.MD) error {
		_, err := table.MDAttach(me, md, portals.Unlink)
		return err
	}
	mdBind := func(md portals.MD) error {
		_, err := table.MDBind(md, portals.Unlink)
		return err
	}
	put := func(md portals.MDHandle, portal int) error {
		return table.Put(portals.PutRequest{MD: md, Target: there, Portal: portal})
	}
	for name, c := range map[string]struct {
		got, want error
	}{
		"MEAttach portal 64":               {meAttach(64, portals.Match{}, portals.After), syscall.EINVAL},
		"MEAttach portal -1":               {meAttach(-1, portals.Match{}, portals.After), syscall.EINVAL},
		"MEAttach position":                {meAttach(1, portals.Match{}, 3), syscall.EINVAL},
		"MEAttach unique on wildcard":      {meAttach(1, portals.Match{ID: there}, portals.After), syscall.EPERM},
		"MEAttach wildcard on unique":      {meAttach(2, portals.Match{}, portals.After), syscall.EPERM},
		"MEAttach any pid on unique":       {meAttach(2, portals.Match{ID: there, Ignore: 1}, portals.After), syscall.EPERM},
		"MEAttach after the last has gone": {meAttach(4, portals.Match{ID: there}, portals.After), syscall.EPERM},
		"MDAttach no operation":            {mdAttach(retained, portals.MD{}), syscall.EINVAL},
		"MDAttach 257 segments":            {mdAttach(retained, portals.MD{Options: portals.OpPut, Segments: make([]lnd.Segment, 257)}), syscall.EINVAL},
		"MDAttach max size":                {mdAttach(retained, portals.MD{Options: portals.OpPut | portals.HasMaxSize, MaxSize: 1}), syscall.EINVAL},
		"MDAttach negative max size":       {mdAttach(retained, portals.MD{Options: portals.OpPut | portals.HasMaxSize, MaxSize: -1}), syscall.EINVAL},
		"MDAttach threshold":               {mdAttach(retained, portals.MD{Options: portals.OpPut, Threshold: -2}), syscall.EINVAL},
		"MDAttach no ME":                   {mdAttach(0, opPut), syscall.ENOENT},
		"MDAttach stale ME":                {mdAttach(goneME, opPut), syscall.ENOENT},
		"MDAttach handle of an MD":         {mdAttach(portals.MEHandle(idle), opPut), syscall.ENOENT},
		"MDAttach ME in use":               {mdAttach(me, opPut), syscall.EBUSY},
		"MDAttach freed EQ":                {mdAttach(retained, portals.MD{Options: portals.OpPut, EQ: freed}), syscall.ENOENT},
		"MDBind with operation":            {mdBind(portals.MD{Options: portals.OpGet}), syscall.EINVAL},
		"MDBind above 1 MiB":               {mdBind(portals.MD{Segments: []lnd.Segment{long}}), syscall.EINVAL},
		"MDBind 1 MiB":                     {mdBind(portals.MD{Segments: []lnd.Segment{long[1:]}}), nil},
		"MDBind freed EQ":                  {mdBind(portals.MD{EQ: freed}), syscall.ENOENT},
		"MDUnlink nothing":                 {table.MDUnlink(0), syscall.ENOENT},
		"MDUnlink twice":                   {table.MDUnlink(gone), syscall.ENOENT},
		"MDUnlink handle of an ME":         {table.MDUnlink(portals.MDHandle(me)), syscall.ENOENT},
		"MEUnlink nothing":                 {table.MEUnlink(0), syscall.ENOENT},
		"MEUnlink twice":                   {table.MEUnlink(goneME), syscall.ENOENT},
		"Put attached MD":                  {put(attached, 0), syscall.ENOENT},
		"Put exhausted MD":                 {put(exhausted, 0), syscall.ENOENT},
		"Put stale MD":                     {put(gone, 0), syscall.ENOENT},
		"Put no MD":                        {put(0, 0), syscall.ENOENT},
		"Put portal 64":                    {put(idle, 64), syscall.EINVAL},
		"Get stale MD":                     {table.Get(portals.GetRequest{MD: gone, Target: there}), syscall.ENOENT},
		"Get portal -1":                    {table.Get(portals.GetRequest{MD: idle, Target: there, Portal: -1}), syscall.EINVAL},
		"SetLazy portal 64":                {table.SetLazy(64), syscall.EINVAL},
		"ClearLazy portal -1":              {table.ClearLazy(-1), syscall.EINVAL},
		"ClearLazy not lazy":               {table.ClearLazy(9), nil},
		"EQ freed twice":                   {freed.Free(), syscall.ENOENT},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if s := table.Node().Stats(); s.MsgsMax != 0 {
		t.Error("a refused call sent something")
	}
}

// TestUnlink: which event ends an MD.
func TestUnlink(t *testing.T) {
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
		"in its handler": {func(h *harness, md portals.MD) error {
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
		}, []string{"PUT", "UNLINK!"}},
		"operation under way": {func(h *harness, md portals.MD) error {
			if err := h.SetLazy(5); err != nil {
				return err
			}
			md.Options = 0
			source := h.bind(md)
			if err := h.Put(portals.PutRequest{MD: source, Target: h.self, Portal: 5}); err != nil {
				return err
			}
			if err := h.MDUnlink(source); err != nil { // the PUT is held: no event yet
				return err
			}
			return h.ClearLazy(5)
		}, []string{"SEND!"}},
		"sends to itself": {func(h *harness, md portals.MD) error {
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
		}, []string{"PUT", "PUT", "PUT", "PUT", "UNLINK!"}},
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

// TestRetainedME outlives its MD and takes another one.
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

// TestHandlesAreNotReused although their slots are.
func TestHandlesAreNotReused(t *testing.T) {
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

// TestAbortedWhileQueued: a PUT that waits for credit when its MD is unlinked
// fails with ECANCELED, and so does a REPLY.
func TestAbortedWhileQueued(t *testing.T) {
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
	net.up.Finalize(net.next(), nil)
	for _, l := range []*log{&put, &get} {
		if len(l.events) != 1 || !errors.Is(l.events[0].Err, syscall.ECANCELED) || !l.events[0].Unlinked {
			t.Errorf("events %+v", l.events)
		}
	}
}
