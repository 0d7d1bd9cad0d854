package portals_test

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// outcome is the result of a call and the expected result. Its name begins with the name of
// the call in LNet.
type outcome struct {
	name      string
	got, want error
}

// errnos are the errors that LNet's calls return. ENOMEM is missing: here only handles can
// run out, see TestNoMoreHandles. LNetNIInit also returns ENOENT when no interface matches
// ip2nets; package lnet has no ip2nets. Other packages test the rest: TestPingFails and
// TestDiscoverErrors of lnet/discovery, and TestNIInitErrors of cmd/internal/node for
// LNetNIInit with real interfaces.
var errnos = map[string][]error{
	"LNetNIInit":          {syscall.ENETDOWN, syscall.ESHUTDOWN, syscall.EINVAL, syscall.EEXIST},
	"LNetGetId":           {syscall.ENOENT},
	"LNetDist":            {syscall.EHOSTUNREACH},
	"LNetEQAlloc":         {syscall.EINVAL},
	"LNetEQFree":          {syscall.ENOENT, syscall.EBUSY},
	"LNetEQGet":           {syscall.ENOENT, portals.ErrOverflow},
	"LNetEQWait":          {syscall.ENOENT, portals.ErrOverflow},
	"LNetEQPoll":          {syscall.ENOENT, portals.ErrOverflow},
	"LNetMEAttach":        {syscall.EINVAL, syscall.EPERM},
	"LNetMEInsert":        {syscall.ENOENT, syscall.EPERM},
	"LNetMEUnlink":        {syscall.ENOENT},
	"LNetMDAttach":        {syscall.EINVAL, syscall.ENOENT, syscall.EBUSY},
	"LNetMDBind":          {syscall.EINVAL, syscall.ENOENT},
	"LNetMDUnlink":        {syscall.ENOENT},
	"LNetPut":             {syscall.ENOENT, syscall.EIO},
	"LNetGet":             {syscall.ENOENT, syscall.EIO},
	"LNetSetLazyPortal":   {syscall.EINVAL},
	"LNetClearLazyPortal": {syscall.EINVAL},
}

// TestErrors (PT-1, PT-2) checks the errno of every call, for every reason.
func TestErrors(t *testing.T) {
	spec.Covers(t, "PT-1", "PT-2")
	f := newErrorFixture(t)
	seen := make(map[string][]error)
	for _, o := range slices.Concat(f.ofMEs(), f.ofMDs(), f.ofOperations(), f.ofQueues(), f.ofNode(), f.ofNIs()) {
		if !errors.Is(o.got, o.want) || (o.got == nil) != (o.want == nil) {
			t.Errorf("%s: %v, want %v", o.name, o.got, o.want)
		}
		call, _, _ := strings.Cut(o.name, " ")
		seen[call] = append(seen[call], o.want)
	}
	for call, want := range errnos {
		for _, err := range want {
			if !slices.Contains(seen[call], err) {
				t.Errorf("nothing tests %s for %v", call, err)
			}
		}
	}
	if s := f.Node().Stats(); s.MsgsMax != 0 {
		t.Error("a refused call sent something")
	}
}

// errorFixture has objects in every state that a call refuses.
type errorFixture struct {
	*harness
	me, goneME, retained, unique    portals.MEHandle
	attached, idle, exhausted, gone portals.MDHandle
	freed                           *portals.EQ
}

func newErrorFixture(t *testing.T) *errorFixture {
	table, _ := newWire(t)
	f := &errorFixture{harness: &harness{Table: table, t: t}}
	f.me, f.attached = f.post(1, portals.Match{}, f.passive())
	f.unique, _ = f.post(2, portals.Match{ID: there, Bits: 1}, f.passive())
	f.idle = f.bind(portals.MD{Threshold: 1})
	f.exhausted = f.bind(portals.MD{})
	f.gone = f.bind(portals.MD{Threshold: 1})
	f.goneME, _ = f.post(4, portals.Match{}, f.passive())
	var errs [2]error
	f.retained, errs[0] = table.MEAttach(3, portals.Match{Ignore: 1}, portals.Retain, portals.After)
	f.freed, errs[1] = table.NewEQ(1)
	if err := errors.Join(errs[0], errs[1], table.MDUnlink(f.gone), table.MEUnlink(f.goneME), f.freed.Free()); err != nil {
		t.Fatal(err)
	}
	return f
}

func (*errorFixture) passive() portals.MD { return portals.MD{Threshold: 1, Options: portals.OpPut} }

func (f *errorFixture) ofMEs() []outcome {
	attach := func(portal int, m portals.Match, pos portals.InsertPosition) error {
		_, err := f.MEAttach(portal, m, portals.Unlink, pos)
		return err
	}
	insert := func(at portals.MEHandle, m portals.Match, pos portals.InsertPosition) error {
		_, err := f.MEInsert(at, m, portals.Unlink, pos)
		return err
	}
	wild := portals.Match{Ignore: 1}
	return []outcome{
		{"LNetMEAttach portal 64", attach(64, portals.Match{}, portals.After), syscall.EINVAL},
		{"LNetMEAttach portal -1", attach(-1, portals.Match{}, portals.After), syscall.EINVAL},
		{"LNetMEAttach position", attach(1, portals.Match{}, 3), syscall.EINVAL},
		{"LNetMEAttach unique on wildcard", attach(1, portals.Match{ID: there}, portals.After), syscall.EPERM},
		{"LNetMEAttach wildcard on unique", attach(2, portals.Match{}, portals.After), syscall.EPERM},
		{"LNetMEAttach ignore bits on unique", attach(2, portals.Match{ID: there, Ignore: 1}, portals.After), syscall.EPERM},
		{"LNetMEAttach any pid on unique", attach(2, portals.Match{ID: nid.ProcessID{NID: there.NID}}, portals.After), syscall.EPERM},
		{"LNetMEAttach any NID on unique", attach(2, portals.Match{ID: nid.ProcessID{PID: there.PID}}, portals.After), syscall.EPERM},
		{"LNetMEAttach after the last has gone", attach(4, portals.Match{ID: there}, portals.After), syscall.EPERM},
		{"LNetMEInsert nowhere", insert(0, wild, portals.After), syscall.ENOENT},
		{"LNetMEInsert beside one that is gone", insert(f.goneME, wild, portals.After), syscall.ENOENT},
		{"LNetMEInsert beside an MD", insert(portals.MEHandle(f.idle), wild, portals.After), syscall.ENOENT},
		{"LNetMEInsert on unique", insert(f.unique, portals.Match{ID: there, Bits: 1}, portals.After), syscall.EPERM},
		{"LNetMEInsert unique", insert(f.me, portals.Match{ID: there}, portals.After), syscall.EPERM},
		{"LNetMEInsert local", insert(f.retained, wild, portals.Local), syscall.EPERM},
		{"LNetMEInsert exact beside ignore bits", insert(f.retained, portals.Match{}, portals.After), syscall.EPERM},
		{"LNetMEInsert ignore bits beside exact", insert(f.me, wild, portals.After), syscall.EPERM},
		{"LNetMEInsert", insert(f.retained, wild, portals.After), nil},
		{"LNetMEUnlink nothing", f.MEUnlink(0), syscall.ENOENT},
		{"LNetMEUnlink twice", f.MEUnlink(f.goneME), syscall.ENOENT},
		{"LNetMEUnlink handle of an MD", f.MEUnlink(portals.MEHandle(f.idle)), syscall.ENOENT},
	}
}

func (f *errorFixture) ofMDs() []outcome {
	attach := func(me portals.MEHandle, md portals.MD) error {
		_, err := f.MDAttach(me, md, portals.Unlink)
		return err
	}
	bind := func(md portals.MD) error {
		_, err := f.MDBind(md, portals.Unlink)
		return err
	}
	long := make([]byte, 1<<20+1)
	sized := func(size int) portals.MD {
		return portals.MD{Options: portals.OpPut | portals.HasMaxSize, MaxSize: size}
	}
	return []outcome{
		{"LNetMDAttach no operation", attach(f.retained, portals.MD{}), syscall.EINVAL},
		{"LNetMDAttach 257 segments", attach(f.retained, portals.MD{Options: portals.OpPut, Segments: make([]lnd.Segment, 257)}), syscall.EINVAL},
		{"LNetMDAttach max size", attach(f.retained, sized(1)), syscall.EINVAL},
		{"LNetMDAttach negative max size", attach(f.retained, sized(-1)), syscall.EINVAL},
		{"LNetMDAttach threshold", attach(f.retained, portals.MD{Options: portals.OpPut, Threshold: -2}), syscall.EINVAL},
		{"LNetMDAttach no ME", attach(0, f.passive()), syscall.ENOENT},
		{"LNetMDAttach stale ME", attach(f.goneME, f.passive()), syscall.ENOENT},
		{"LNetMDAttach handle of an MD", attach(portals.MEHandle(f.idle), f.passive()), syscall.ENOENT},
		{"LNetMDAttach freed EQ", attach(f.retained, portals.MD{Options: portals.OpPut, EQ: f.freed}), syscall.ENOENT},
		{"LNetMDAttach ME in use", attach(f.me, f.passive()), syscall.EBUSY},
		{"LNetMDAttach 256 segments", attach(f.retained, portals.MD{Options: portals.OpPut, Segments: make([]lnd.Segment, 256)}), nil},
		{"LNetMDBind for PUTs", bind(portals.MD{Options: portals.OpPut}), syscall.EINVAL},
		{"LNetMDBind for GETs", bind(portals.MD{Options: portals.OpGet}), syscall.EINVAL},
		{"LNetMDBind 257 segments", bind(portals.MD{Segments: make([]lnd.Segment, 257)}), syscall.EINVAL},
		{"LNetMDBind above 1 MiB", bind(portals.MD{Segments: []lnd.Segment{long}}), syscall.EINVAL},
		{"LNetMDBind 1 MiB", bind(portals.MD{Segments: []lnd.Segment{long[1:]}}), nil},
		{"LNetMDBind freed EQ", bind(portals.MD{EQ: f.freed}), syscall.ENOENT},
		{"LNetMDUnlink nothing", f.MDUnlink(0), syscall.ENOENT},
		{"LNetMDUnlink twice", f.MDUnlink(f.gone), syscall.ENOENT},
		{"LNetMDUnlink handle of an ME", f.MDUnlink(portals.MDHandle(f.me)), syscall.ENOENT},
	}
}

func (f *errorFixture) ofOperations() []outcome {
	put := func(md portals.MDHandle, portal int) error {
		return f.Put(portals.PutRequest{MD: md, Target: there, Portal: portal})
	}
	get := func(md portals.MDHandle, portal int) error {
		return f.Get(portals.GetRequest{MD: md, Target: there, Portal: portal})
	}
	failing := func(call func(portals.MDHandle, int) error, md portals.MDHandle) error {
		if err := f.Node().FailNID(there.NID, 1); err != nil {
			return err
		}
		return call(md, 0)
	}
	return []outcome{
		{"LNetPut to a NID that fails", failing(put, f.idle), syscall.EIO},
		{"LNetPut to a NID that fails, no MD", failing(put, 0), syscall.EIO},
		{"LNetGet to a NID that fails", failing(get, f.idle), syscall.EIO},
		{"LNetGet to a NID that fails, no MD", failing(get, 0), syscall.EIO},
		{"LNetPut attached MD", put(f.attached, 0), syscall.ENOENT},
		{"LNetPut exhausted MD", put(f.exhausted, 0), syscall.ENOENT},
		{"LNetPut stale MD", put(f.gone, 0), syscall.ENOENT},
		{"LNetPut no MD", put(0, 0), syscall.ENOENT},
		{"LNetPut portal 64", put(f.idle, 64), syscall.EINVAL},
		{"LNetGet attached MD", get(f.attached, 0), syscall.ENOENT},
		{"LNetGet exhausted MD", get(f.exhausted, 0), syscall.ENOENT},
		{"LNetGet stale MD", get(f.gone, 0), syscall.ENOENT},
		{"LNetGet no MD", get(0, 0), syscall.ENOENT},
		{"LNetGet portal -1", get(f.idle, -1), syscall.EINVAL},
		{"LNetSetLazyPortal 64", f.SetLazy(64), syscall.EINVAL},
		{"LNetSetLazyPortal -1", f.SetLazy(-1), syscall.EINVAL},
		{"LNetClearLazyPortal -1", f.ClearLazy(-1), syscall.EINVAL},
		{"LNetClearLazyPortal 64", f.ClearLazy(64), syscall.EINVAL},
		{"LNetClearLazyPortal not lazy", f.ClearLazy(9), nil},
	}
}

func (f *errorFixture) ofQueues() []outcome {
	alloc := func(size int) error {
		_, err := f.NewEQ(size)
		return err
	}
	errOf := func(_ portals.Event, _ bool, err error) error { return err }
	wait := func(q *portals.EQ) error {
		_, err := q.Wait(f.t.Context())
		return err
	}
	poll := func(queues ...*portals.EQ) error {
		_, _, _, err := f.PollEQs(queues, 0)
		return err
	}
	q, err := f.NewEQ(1)
	if err != nil {
		f.t.Fatal(err)
	}
	overflow := func() *portals.EQ {
		for range 2 {
			if err := f.MDUnlink(f.bind(portals.MD{EQ: q})); err != nil {
				f.t.Fatal(err)
			}
		}
		return q
	}
	busy := f.bind(portals.MD{EQ: q})
	return []outcome{
		{"LNetEQAlloc no events", alloc(0), syscall.EINVAL},
		{"LNetEQAlloc negative", alloc(-1), syscall.EINVAL},
		{"LNetEQAlloc too many", alloc(1<<24 + 1), syscall.EINVAL},
		{"LNetEQFree twice", f.freed.Free(), syscall.ENOENT},
		{"LNetEQFree in use", q.Free(), syscall.EBUSY},
		{"LNetEQGet freed", errOf(f.freed.Get()), syscall.ENOENT},
		{"LNetEQGet late", errOf(overflow().Get()), portals.ErrOverflow},
		{"LNetEQWait freed", wait(f.freed), syscall.ENOENT},
		{"LNetEQWait late", wait(overflow()), portals.ErrOverflow},
		{"LNetEQPoll one, freed", errOf(f.freed.Poll(0)), syscall.ENOENT},
		{"LNetEQPoll one, late", errOf(overflow().Poll(0)), portals.ErrOverflow},
		{"LNetEQPoll none", poll(), syscall.ENOENT},
		{"LNetEQPoll one of two freed", poll(q, f.freed), syscall.ENOENT},
		{"LNetEQPoll late", poll(overflow()), portals.ErrOverflow},
		{"LNetMDUnlink the last with an EQ", f.MDUnlink(busy), nil},
		{"LNetEQFree", q.Free(), nil},
	}
}

func (f *errorFixture) ofNode() []outcome {
	id := func(index int) error {
		_, err := f.ID(index)
		return err
	}
	distance := func(dst nid.NID) error {
		_, err := f.Distance(dst)
		return err
	}
	return []outcome{
		{"LNetGetId", id(0), nil},
		{"LNetGetId beyond the last", id(1), syscall.ENOENT},
		{"LNetGetId -1", id(-1), syscall.ENOENT},
		{"LNetDist", distance(there.NID), nil},
		{"LNetDist another net", distance(nid.MustParse("1.1.1.1@tcp7")), syscall.EHOSTUNREACH},
		{"LNetDist nobody", distance(nid.NID{}), syscall.EHOSTUNREACH},
	}
}

// ofNIs returns the outcomes of calls about NIs; it shuts the node down.
func (f *errorFixture) ofNIs() []outcome {
	add := func(driver lnd.Driver, credits int) error {
		_, err := f.Node().AddNI(driver, lnd.Config{Net: here.NID.Net(), Tunables: lnd.Tunables{Credits: credits}})
		return err
	}
	unusable := &network{fails: errors.New("test: no such interface")}
	return []outcome{
		{"LNetNIInit NID twice", add(new(network), 0), syscall.EEXIST},
		{"LNetNIInit negative credits", add(new(network), -1), syscall.EINVAL},
		{"LNetNIInit unusable interface", add(unusable, 0), syscall.ENETDOWN},
		{"LNetNIFini", f.Node().Shutdown(f.t.Context()), nil},
		{"LNetNIInit afterwards", add(new(network), 0), syscall.ESHUTDOWN},
	}
}

// TestIdentity checks the NIDs and PIDs that a node reports for itself and for others.
func TestIdentity(t *testing.T) {
	h := newHarness(t)
	if _, err := h.Node().AddNI(new(network), lnd.Config{Net: here.NID.Net()}); err != nil {
		t.Fatal(err)
	}
	for index, want := range []nid.ProcessID{{NID: nid.Lo0(), PID: nid.LustrePID}, here} {
		if got, err := h.ID(index); got != want || err != nil {
			t.Errorf("ID %d is %v, %v, want %v", index, got, err, want)
		}
	}
	for dst, want := range map[nid.NID]lnet.Distance{
		nid.Lo0():                      {Source: nid.Lo0()},
		here.NID:                       {Order: 1, Source: here.NID},
		there.NID:                      {Hops: 1, Order: 3, Source: here.NID},
		nid.MustParse("10.99.0.1@tcp"): {Hops: 1, Order: 3, Source: here.NID},
	} {
		if got, err := h.Distance(dst); got != want || err != nil {
			t.Errorf("distance of %v is %+v, %v, want %+v", dst, got, err, want)
		}
	}
}

// TestErrorText: an error names the call and the peer.
func TestErrorText(t *testing.T) {
	table := portals.New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	for want, err := range map[string]error{
		"MDUnlink: no such file or directory":            table.MDUnlink(0),
		"Put to 10.0.0.2@tcp: no such file or directory": table.Put(portals.PutRequest{Target: there}),
		"SetLazy: invalid argument":                      table.SetLazy(-1),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
