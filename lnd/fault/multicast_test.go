package fault

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

var group = nid.MustParse("239.0.0.5@tcp")

// benchCaster is the NI of a driver that has multicast.
type benchCaster struct{ *benchNI }

func (benchCaster) GroupNID(lnd.Group) nid.NID { return group }
func (benchCaster) Join(lnd.Group) error       { return nil }
func (benchCaster) Leave(lnd.Group) error      { return nil }
func (benchCaster) MulticastLimits() lnd.MulticastLimits {
	return lnd.MulticastLimits{MaxPayload: 100}
}

func (c benchCaster) Multicast(m *lnd.Message) {
	if m.Group != 5 {
		c.t.Errorf("a datagram to group %d, want 5", m.Group)
	}
	c.Send(m)
}

// casterDriver makes NIs of type benchCaster.
type casterDriver struct{ *bench }

func (d casterDriver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	_, err := d.bench.Startup(cfg, up)
	return benchCaster{(*benchNI)(d.bench)}, err
}

func newCasterBench(t testing.TB, rules ...string) *bench {
	t.Helper()
	b := newBench(t, Config{})
	b.plan = New(Config{Clock: b.clock})
	var err error
	if b.ni, err = Wrap(casterDriver{b}, b.plan).Startup(lnd.Config{Net: nid.MakeNet(nid.TCP, 0)}, (*benchLNet)(b)); err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		b.rule(r)
	}
	return b
}

func (b *bench) cast(bits uint64) {
	m := put(here, group, bits, fmt.Sprint(bits))
	m.Group = 5
	b.ni.(lnd.Multicaster).Multicast(m)
}

// catch makes a datagram of a group arrive.
func (b *bench) catch(from nid.NID, bits uint64) {
	b.t.Helper()
	m := put(from, group, bits, fmt.Sprint(bits))
	d := &lnd.Delivery{Header: m.Header, From: nid.ProcessID{NID: from}, Group: 5}
	if answer, err := b.up.Parse(d); answer != lnd.Accept || err != nil {
		b.t.Fatalf("Parse: %v, %v", answer, err)
	}
	lnd.Copy(d.Sink, m.Payload)
	b.up.Delivered(d, nil)
}

// TestMulticastRules checks which datagrams match a rule, when they are sent and when they arrive, and
// that a datagram stays a datagram whatever a rule does to it (RM-24, RM-36).
func TestMulticastRules(t *testing.T) {
	spec.Covers(t, "RM-24", "RM-36")
	for _, tt := range []struct {
		name       string
		rule       string
		sent, come []uint64 // match bits of the messages that pass: the test sends 1, and 2 arrives from another node
	}{
		{"none", "", []uint64{1}, []uint64{2}},
		{"lost", "loss 100%", nil, nil},
		{"to the group", "to 239.0.0.5@tcp cut", nil, nil},
		{"to another group", "to 239.0.0.6@tcp cut", []uint64{1}, []uint64{2}},
		{"to this node", "to 10.0.0.1@tcp cut", []uint64{1}, nil},
		{"to a member", "to 10.0.0.2@tcp cut", []uint64{1}, []uint64{2}},
		{"from this node", "from 10.0.0.1@tcp cut", nil, []uint64{2}},
		{"from the sender", "from 10.0.0.2@tcp cut", []uint64{1}, nil},
		{"delayed", "latency 1ms", []uint64{1}, []uint64{2}},
		{"doubled", "duplicate 100%", []uint64{1, 1}, []uint64{2, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newCasterBench(t)
				if tt.rule != "" {
					b.rule(tt.rule)
				}
				b.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
					if d.Group != 5 {
						t.Errorf("arrived for group %d, want 5", d.Group)
					}
					(*benchLNet)(b).take(d)
					return lnd.Accept, nil
				}
				b.cast(1)
				b.catch(there, 2)
				pass(time.Second)
				if got := bitsOf(b.sent); !slices.Equal(got, tt.sent) {
					t.Errorf("sent %v, want %v", got, tt.sent)
				}
				if got := bitsOf(b.got); !slices.Equal(got, tt.come) {
					t.Errorf("arrived %v, want %v", got, tt.come)
				}
				if len(b.ended) != 1 || b.ended[0].err != nil {
					t.Errorf("ended %v", b.ended)
				}
				b.empty()
			})
		})
	}
}

// TestMulticastPartition: a partition loses no datagram that this node sends, because a group is on
// no side of the partition. It loses the datagrams that arrive from nodes on the other side.
func TestMulticastPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newCasterBench(t)
		p, err := ParsePartition("10.0.0.1@tcp 10.0.0.3@tcp | 10.0.0.2@tcp")
		if err != nil {
			t.Fatal(err)
		}
		b.plan.Separate(p)
		b.cast(1)
		b.catch(there, 2)
		b.catch(third, 3)
		if got := bitsOf(b.sent); !slices.Equal(got, []uint64{1}) {
			t.Errorf("sent %v", got)
		}
		if got := bitsOf(b.got); !slices.Equal(got, []uint64{3}) {
			t.Errorf("arrived %v, want that of the same side", got)
		}
	})
}

// TestNoMulticast: a wrapped NI has multicast only if the driver's NI has it.
func TestNoMulticast(t *testing.T) {
	b := newBench(t, Config{})
	if _, ok := lnd.AsMulticaster(b.ni); ok {
		t.Error("a driver without multicast has it")
	}
	m := b.ni.(lnd.Multicaster)
	for _, err := range []error{m.Join(1), m.Leave(1)} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v, want errors.ErrUnsupported", err)
		}
	}
	b.cast(1)
	if len(b.ended) != 1 || !errors.Is(b.ended[0].err, syscall.EOPNOTSUPP) || m.GroupNID(1).IsValid() {
		t.Errorf("ended %v", b.ended)
	}
}
