package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var self = nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}

// silent is a driver whose network loses everything.
type silent struct {
	id    nid.NID
	up    lnd.Upcalls
	fails error // error with which each send fails; nil: sends succeed
}

func (s *silent) Type() nid.NetType { return s.id.Net().Type() }

func (s *silent) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	s.up = up
	return s, nil
}

func (s *silent) NID() nid.NID                   { return s.id }
func (s *silent) Send(m *lnd.Message)            { s.up.Finalize(m, s.fails) }
func (s *silent) Recv(*lnd.Delivery)             {}
func (s *silent) Shutdown(context.Context) error { return nil }

// newNode returns a node with the loopback NI only.
func newNode(t *testing.T) *portals.Table {
	t.Helper()
	node := lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()})
	table := portals.New(node)
	if _, err := node.AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return table
}

func addSilent(t *testing.T, table *portals.Table, id string, fails error) *lnet.NI {
	t.Helper()
	d := &silent{id: nid.MustParse(id), fails: fails}
	ni, err := table.Node().AddNI(d, lnd.Config{Net: d.id.Net()})
	if err != nil {
		t.Fatal(err)
	}
	return ni
}

func names(info wire.PingInfo) (ids []string) {
	for _, ni := range info.NIs {
		ids = append(ids, ni.NID.String())
	}
	return ids
}

// TestPing (PD-2): the answer has the node's NIs; when these change, the next answer has them
// with a higher sequence number.
func TestPing(t *testing.T) {
	spec.Covers(t, "PD-2")
	table := newNode(t)
	target, err := discovery.NewTarget(table)
	if err != nil {
		t.Fatal(err)
	}
	last := uint32(0)
	wantPing := func(want ...string) {
		t.Helper()
		got, err := discovery.Ping(t.Context(), table, self, discovery.PingOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Features != discovery.Features || got.PID != nid.LustrePID || got.Sequence <= last {
			t.Errorf("features %v, pid %v, sequence %d after %d", got.Features, got.PID, got.Sequence, last)
		}
		last = got.Sequence
		if diff := cmp.Diff(want, names(got)); diff != "" {
			t.Errorf("NIs (-want +got):\n%s", diff)
		}
		if info := target.Info(); info.Sequence != got.Sequence || len(info.NIs) != len(want) {
			t.Errorf("Info says %+v", info)
		}
	}
	wantPing()
	first := addSilent(t, table, "10.0.0.1@tcp", nil)
	wantPing("10.0.0.1@tcp")
	addSilent(t, table, "10.1.0.1@tcp1", nil)
	wantPing("10.0.0.1@tcp", "10.1.0.1@tcp1")
	if err := table.Node().RemoveNI(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wantPing("10.1.0.1@tcp1")
}

// TestPingWhileNIsChange checks that pings are answered at any time.
func TestPingWhileNIsChange(t *testing.T) {
	table := newNode(t)
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
	var change sync.WaitGroup
	change.Go(func() {
		for i := range 50 {
			ni := addSilent(t, table, fmt.Sprintf("10.0.0.%d@tcp", i+1), nil)
			if err := table.Node().RemoveNI(t.Context(), ni); err != nil {
				t.Error(err)
			}
		}
	})
	for last, i := uint32(0), 0; i < 200; i++ {
		info, err := discovery.Ping(t.Context(), table, self, discovery.PingOptions{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if info.Sequence < last {
			t.Fatalf("sequence %d after %d", info.Sequence, last)
		}
		last = info.Sequence
	}
	change.Wait()
}

// TestPingRetry (PD-3): if an answer does not fit into the buffer, the ping is repeated with enough room.
func TestPingRetry(t *testing.T) {
	spec.Covers(t, "PD-3")
	table := newNode(t)
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
	addSilent(t, table, "10.0.0.1@tcp", nil)
	addSilent(t, table, "10.1.0.1@tcp1", nil)
	for size, gets := range map[int]uint64{
		wire.PingInfoSize(3):     1,
		wire.PingInfoSize(3) - 1: 2,
		wire.PingInfoSize(1):     2,
		// The first answer is cut off before the number of NIDs, so a second GET asks for one entry, and a
		// third for all.
		1: 3,
	} {
		before := table.Node().Snapshot().NIs[0].Traffic.Sent.Get
		info, err := discovery.Ping(t.Context(), table, self, discovery.PingOptions{Size: size})
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Node().Snapshot().NIs[0].Traffic.Sent.Get - before; len(info.NIs) != 2 || got != gets {
			t.Errorf("room for %d bytes: %d NIs after %d GETs, want %d", size, len(info.NIs), got, gets)
		}
	}
}

// TestPingGarbage (PD-4): a ping whose answer is no valid ping info fails with EPROTO.
func TestPingGarbage(t *testing.T) {
	spec.Covers(t, "PD-4")
	whole, err := (&wire.PingInfo{Features: discovery.Features}).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	huge := append([]byte(nil), whole...)
	huge[4] |= byte(wire.FeatureLargeAddr) // this flag and the next line give the info a size that no node needs
	huge[len(huge)-4], huge[len(huge)-2] = 0, 0x0F
	for name, answer := range map[string][]byte{
		"nothing":     nil,
		"short":       whole[:15],
		"wrong magic": append([]byte{1, 2, 3, 4}, whole[4:]...),
		"huge":        huge,
	} {
		table := newNode(t)
		me, err := table.MEAttach(0, portals.Match{Bits: wire.PingMatchBits}, portals.Unlink, portals.After)
		if err != nil {
			t.Fatal(err)
		}
		_, err = table.MDAttach(me, portals.MD{
			Segments: []lnd.Segment{answer}, Threshold: 3, Options: portals.OpGet | portals.Truncate | portals.ManageRemote,
		}, portals.Unlink)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := discovery.Ping(t.Context(), table, self, discovery.PingOptions{}); !errors.Is(err, syscall.EPROTO) {
			t.Errorf("%s: %v, want EPROTO", name, err)
		}
	}
}

// TestPingFails checks, for every reason for which a ping gets no answer, which error the caller gets,
// and when.
func TestPingFails(t *testing.T) {
	cause := errors.New("test: enough")
	for name, c := range map[string]struct {
		dst    string
		fails  error // error with which each send by the driver fails; nil: sends succeed
		marked bool  // the test tells the node, by FailNID, to fail messages to the target
		source nid.NID
		cancel time.Duration
		want   error
		took   time.Duration
	}{
		"no answer":       {dst: "10.0.0.2@tcp", want: syscall.ETIMEDOUT, took: 3 * time.Second},
		"cancelled":       {dst: "10.0.0.2@tcp", cancel: time.Second, want: cause, took: time.Second},
		"send fails":      {dst: "10.0.0.2@tcp", fails: syscall.ECONNREFUSED, want: syscall.ECONNREFUSED},
		"send fails, EIO": {dst: "10.0.0.2@tcp", fails: syscall.EIO, want: syscall.EIO},
		"to fail":         {dst: "10.0.0.2@tcp", marked: true, want: syscall.EIO},
		"no route":        {dst: "10.0.0.2@tcp7", want: syscall.EHOSTUNREACH},
		"foreign source":  {dst: "10.0.0.2@tcp", source: nid.MustParse("10.9.9.9@tcp"), want: syscall.EINVAL},
		"nobody listens":  {dst: "0@lo", want: syscall.ETIMEDOUT, took: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newNode(t)
				addSilent(t, table, "10.0.0.1@tcp", c.fails)
				if c.marked {
					if err := table.Node().FailNID(nid.MustParse(c.dst), 1); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, func() { cancel(cause) })
				}
				start := time.Now()
				_, err := discovery.Ping(ctx, table, nid.ProcessID{NID: nid.MustParse(c.dst)},
					discovery.PingOptions{Timeout: 3 * time.Second, Source: c.source})
				if took := time.Since(start); !errors.Is(err, c.want) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
			})
		})
	}
}

// TestDoneOnce: however a ping ends, done is called once, and cancelling it
// afterwards does nothing.
func TestDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newNode(t)
		if _, err := discovery.NewTarget(table); err != nil {
			t.Fatal(err)
		}
		calls := 0
		p := discovery.StartPing(table, self, discovery.PingOptions{}, func(_ wire.PingInfo, err error) {
			calls++
			if err != nil {
				t.Error(err)
			}
		})
		p.Cancel(context.Canceled)
		<-time.After(time.Hour)
		if calls != 1 {
			t.Errorf("done was called %d times", calls)
		}
	})
}
