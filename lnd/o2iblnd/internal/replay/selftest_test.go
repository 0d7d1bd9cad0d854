package replay_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/recording"
	selftestwire "ulnet/lnet/selftest/wire"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// stack is a whole node on a stage: our driver, LNet, portals, and lnet_selftest with a console.
type stack struct {
	*node
	lnet    *lnet.Node
	agent   *selftest.Agent
	console *console.Console
	steps   []recording.Step // commands of the console
	due     chan struct{}    // gets a value when the recording comes to a request of the console
	result  chan error       // receives the error with which the commands end; nil: none
	parts   map[int]replay.Part
	differ  recording.Differences
}

// passing is a driver that passes the NI of another driver on, and keeps it for the test.
type passing struct {
	lnd.Driver
	ni lnd.NI
}

// Startup implements lnd.Driver.
func (d *passing) Startup(cfg lnd.Config, up lnd.Upcalls) (ni lnd.NI, err error) {
	d.ni, err = d.Driver.Startup(cfg, up)
	return d.ni, err
}

// newStack starts a node in the place of a recorded one.
func newStack(t *testing.T, s *replay.Script, host netip.Addr) *stack {
	t.Helper()
	x := &stack{
		node: prepare(t, s, host), parts: s.Parts(), due: make(chan struct{}, len(s.Packets)), result: make(chan error, 1),
		differ: recording.Differences{LNet: true}, // Jitter is 0: ages of sessions are not compared, because the player omits pauses below 1 ms
	}
	numbers := s.Numbers(x.addr)
	cfg := o2iblnd.Config{Open: softroce.NewOpener(softroce.Options{Network: x.Stage, Numbers: numbers}), NoMulticast: true}
	if len(numbers.Cookies) > 0 {
		cfg.FirstCookie = numbers.Cookies[0]
	}
	driver, err := o2iblnd.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pass := &passing{Driver: driver}
	x.lnet = lnet.New(lnet.Config{Incarnation: numbers.Stamp, Clock: machine.RealClock()})
	table := portals.New(x.lnet)
	for _, add := range []struct {
		driver lnd.Driver
		cfg    lnd.Config
	}{{lo.Driver{}, lnd.Config{}}, {pass, lnd.Config{Net: nid.MakeNet(nid.O2IB, 0), Interface: x.addr.String()}}} {
		if _, err := x.lnet.AddNI(add.driver, add.cfg); err != nil {
			t.Fatal(err)
		}
	}
	x.ni = pass.ni
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
	if x.agent, err = selftest.New(table, selftest.Config{}); err == nil {
		x.console, err = console.New(table, x.agent, console.Config{})
	}
	if err != nil {
		t.Fatal(err)
	}
	x.Player.Begin, x.Player.Rewrite, x.Player.LateCredits = x.begin, x.rewrite, true
	x.Player.Also = append(x.Player.Also[:len(x.Player.Also):len(x.Player.Also)], replay.Difference{
		What: "selftest", Reason: "see package recording", Adapt: x.adapt,
	})
	x.steps = recording.Steps(t, recording.Read(t, bulk), []nid.NID{o2ib(x.addr)})
	return x
}

// begin is called when the player comes to a packet that the node has to send. If it is a request of the
// console, begin lets the commands go on.
func (x *stack) begin(at int) {
	op, is := x.ops[at]
	if is && op.Header.Type == wire.Put && op.Header.Put().Portal == selftestwire.FrameworkPortal {
		x.due <- struct{}{}
	}
}

// run gives the console its commands.
func (x *stack) run(ctx context.Context) error {
	due, tests := 0, 0
	for i := range x.steps {
		s := &x.steps[i]
		for ; due < s.Due; due++ {
			select {
			case <-x.due:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for ; s.Tests > tests; <-time.After(time.Millisecond) { // looks again after each millisecond of virtual time
			if status := x.agent.Status(); int(status.Sent) >= s.Tests && status.Calls == 0 {
				tests = s.Tests
			} else if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if err := s.Run(ctx, x.console); err != nil {
			return err
		}
	}
	return nil
}

// adapt changes a recorded packet into the one that our node must send.
func (x *stack) adapt(_ *replay.Differences, want, ours *replay.Packet) (differs bool, err error) {
	a, b := want.Msg, ours.Msg
	switch {
	case want.OpCode.IsWrite() && ours.OpCode.IsWrite():
		part := x.parts[want.Frame]
		want.Payload = x.differ.AdaptData(part.Bits, part.Offset, want.Payload, ours.Payload)
	case a == nil || b == nil || !a.Type.HasLNet() || !b.Type.HasLNet():
	case a.LNet.Type == wire.Get && b.LNet.Type == wire.Get:
		g := a.LNet.Get()
		g.ReturnMD = b.LNet.Get().ReturnMD
		a.LNet.SetGet(g)
	case a.Type == kib.Immediate && len(a.Payload) == selftestwire.MessageSize:
		recorded := a.Payload
		if a.Payload, err = x.differ.Adapt(recorded, b.Payload); err == nil {
			x.differ.Note(recorded, b.Payload)
		}
	}
	return false, err
}

// rewrite changes a message of the host into the one that our node gets. It returns false if it leaves the message as it is.
func (x *stack) rewrite(p *replay.Packet) bool {
	m := p.Msg
	if !m.Type.HasLNet() {
		return false
	}
	switch m.LNet.Type {
	case wire.Get:
		g := m.LNet.Get()
		g.MatchBits = x.differ.Own(g.MatchBits)
		m.LNet.SetGet(g)
	case wire.Put:
		if c := m.LNet.Put(); c.Portal == selftestwire.BulkPortal {
			c.MatchBits = x.differ.Own(c.MatchBits)
			m.LNet.SetPut(c)
		}
		m.Payload = x.differ.Substitute(m.Payload)
	}
	return true
}

// play plays to the end, ends the node, and returns the first difference.
func (x *stack) play() error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { x.result <- x.run(ctx) }()
	err := x.Run()
	if err == nil {
		err = x.Quiet(400 * time.Millisecond)
	}
	cancel()
	if failed := <-x.result; err == nil {
		err = failed
	}
	x.Clear()
	end, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	x.lnet.Shutdown(end)
	synctest.Wait()
	return err
}

// TestSelftest puts a whole node with lnet_selftest in the place of each of the two nodes of the
// recorded test: a console and client that writes 1 MiB and reads 64 KiB, and the server.
func TestSelftest(t *testing.T) {
	spec.Covers(t, "ST-20", "ST-22")
	samples := map[string]int{"10.88.0.2": 0, "10.88.0.3": 3}
	roles(t, bulk, func(t *testing.T, s *replay.Script, host netip.Addr) {
		x := newStack(t, s, host)
		x.adopt(s.Conns()[0], s.Numbers(host).Stamp)
		if err := x.play(); err != nil {
			t.Error(err)
		}
		for what := range x.Player.Seen {
			switch what {
			case "migration bit", "AckReq inside a message", "opcode and RETH inside a transfer", "cookie of a later transfer", "credit of a GET_REQ": // the differences that TestBulk allows
			default:
				t.Errorf("differs: %s", what)
			}
		}
		if diff := cmp.Diff(samples[x.addr.String()], x.differ.Samples); diff != "" {
			t.Errorf("samples (-want +got)\n%s", diff)
		}
		if got := x.agent.Status(); got.Session != selftestwire.NoSession().String() || got.Dropped+got.Expired+got.Errors+got.BRWErrors > 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestSelftestData: a client asks for a READ with check=full, so the node must send the data that the
// kernel sends then, byte for byte. The recorded client asked for check=none, so the recorded data
// differ from these.
func TestSelftestData(t *testing.T) {
	s := load(t, bulk)
	synctest.Test(t, func(t *testing.T) {
		x := newStack(t, s, netip.MustParseAddr("10.88.0.2"))
		x.Player.Rewrite = func(p *replay.Packet) bool {
			if m, err := selftestwire.ParseMessage(p.Msg.Payload); err == nil {
				if b, ok := m.Body.(*selftestwire.BRW); ok && b.Op == selftestwire.Read {
					b.Check = selftestwire.CheckFull
					p.Msg.Payload, _ = m.AppendBinary(nil)
				}
			}
			return x.rewrite(p)
		}
		x.adopt(s.Conns()[0], s.Numbers(x.Player.Host).Stamp)
		if err := x.play(); !errors.Is(err, replay.ErrDiffers) || !strings.Contains(err.Error(), "b3 ee b2 ee") {
			t.Errorf("%v, want %v in the words of the check", err, replay.ErrDiffers)
		}
	})
}
