package portals_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestModel makes the same random calls of a table and of its model, and compares the results
// after each: errors, events with all their fields, messages sent, held and dropped, the
// reasons of drops, and the bytes in every MD. ULNET_LONG makes it ten thousand runs.
func TestModel(t *testing.T) {
	setFlag(t, "rapid.steps", "100")
	if os.Getenv("ULNET_LONG") != "" && !effort.Race {
		setFlag(t, "rapid.checks", "10000")
	}
	rapid.Check(t, compareRun)
}

// FuzzModel is TestModel with calls that a fuzzer chooses.
func FuzzModel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(compareRun)) }

func compareRun(t *rapid.T) {
	r := newModelRun(t)
	t.Repeat(map[string]func(*rapid.T){
		"MEAttach": r.meAttach, "MEInsert": r.meInsert, "MDAttach": r.mdAttach, "MDBind": r.mdBind,
		"MEUnlink": r.meUnlink, "MDUnlink": r.mdUnlink, "SetLazy": r.setLazy, "ClearLazy": r.clearLazy,
		"Put": r.put, "PutBatch": r.putBatch, "Get": r.get, "arrival of a PUT": r.arrivePut, "arrival of a GET": r.arriveGet,
		"arrival of an ACK": r.arriveAck, "arrival of a REPLY": r.arriveReply,
		"PUT of a batch": r.batchedPut, "ACKs of a batch": r.batchedAcks, "batch ends": r.batchEnds,
		"payload": r.deliver, "sent": r.finish, "sent together": r.leave, "connection lost": r.abandon, "time": r.advance,
		"": r.compare,
	})
	r.settle(t)
}

// setFlag sets a flag for one test, unless the command line sets it.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	v := flag.Lookup(name).Value
	before := v.String()
	if err := v.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Set(before) })
}

// modelNetwork is a network on which messages arrive and leave only when the test says so.
type modelNetwork struct {
	network
	received []*lnd.Delivery // held deliveries that Recv has continued
}

func (n *modelNetwork) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	_, err := n.network.Startup(cfg, up)
	return n, err
}

func (n *modelNetwork) Recv(d *lnd.Delivery) { n.received = append(n.received, d) }

// modelRun is a table and the model that checks it.
type modelRun struct {
	*model
	table *portals.Table
	net   *modelNetwork
	clock *fakeClock

	happened   []portals.Event
	onTheWay   []*modelSend                    // messages that the network has
	messages   map[*modelSend]*lnd.Message     // the table's message for each of onTheWay
	coming     []*modelArrival                 // messages taken by an MD whose payload is to come
	deliveries map[*modelArrival]*lnd.Delivery // the table's delivery for each arrival, held ones included
	batch      *lnd.Delivery                   // the Delivery of a batch; nil: none is coming in
	arrivals   int
	acks       int  // largest number of equal ACKs of a batch that the table posts together
	sweeping   bool // the events of this step, a sweep over all MDs, may come in any order
}

// The peers: beside is another NID of the node whose primary NID is there.
var (
	beside   = nid.ProcessID{NID: nid.MustParse("10.0.0.3@tcp"), PID: nid.LustrePID}
	stranger = nid.ProcessID{NID: nid.MustParse("10.0.0.4@tcp"), PID: 9}
)

const modelTimeout = 10 * time.Second

func newModelRun(t *rapid.T) *modelRun {
	credits := rapid.IntRange(1, 3).Draw(t, "peer credits")
	r := &modelRun{
		model: newModel(credits, modelTimeout), net: new(modelNetwork), clock: &fakeClock{now: 1},
		messages: make(map[*modelSend]*lnd.Message), deliveries: make(map[*modelArrival]*lnd.Delivery),
	}
	r.net.single = true // in the model each ACK is posted alone, with a credit of its own
	r.net.whole = func() bool { return rapid.Bool().Draw(t, "not inline") }
	node := lnet.New(lnet.Config{Incarnation: incarnation, Clock: r.clock, TransactionTimeout: modelTimeout})
	r.table = portals.New(node)
	r.acks = rapid.IntRange(1, 8).Draw(t, "ACKs at once")
	r.table.AcksAtOnce(r.acks)
	r.table.TimeOneIn(0) // the answer to an operation that is timed names a call, which the model does not have
	_, err := node.AddNI(r.net, lnd.Config{Net: here.NID.Net(), Tunables: lnd.Tunables{PeerCredits: credits}})
	if err != nil {
		t.Fatal(err)
	}
	node.SetPeer(lnet.Peer{Primary: there.NID, NIs: []wire.NIStatus{{NID: there.NID}, {NID: beside.NID}}})
	return r
}

// settle ends all operations in progress and unlinks every MD: each must then have had its
// last event.
func (r *modelRun) settle(t *rapid.T) {
	r.endBatch()
	for len(r.onTheWay)+len(r.coming) > 0 {
		sent, coming := r.onTheWay, r.coming
		r.onTheWay, r.coming = nil, nil
		for _, s := range sent {
			r.end(s, nil)
		}
		r.compare(t)
		for _, a := range coming {
			r.bring(a, nil)
			r.compare(t) // compare now, because the next payload may change memory from which a message is sent
		}
	}
	for _, d := range r.mds {
		r.same(t, r.table.MDUnlink(d.handle), r.model.mdUnlink(d))
		r.compare(t)
		if !d.ended {
			t.Fatalf("MD %d never ends", d.name)
		}
	}
	if err := r.table.Node().Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := r.table.Node().Stats().MsgsAlloc; n != 0 {
		t.Fatalf("%d messages never ended", n)
	}
}

// compare compares the actions of table and model since the last call.
func (r *modelRun) compare(t *rapid.T) {
	r.compareEvents(t)
	r.compareSent(t)
	r.compareHeld(t)
	stats := r.table.Node().Stats()
	if diff := gocmp.Diff(r.drops, stats.DropReasons); diff != "" {
		t.Fatalf("drops (-want +got):\n%s", diff)
	}
	if stats.ResponseTimeouts != r.late {
		t.Fatalf("%d response timeouts, want %d", stats.ResponseTimeouts, r.late)
	}
	for _, d := range r.mds {
		if got := bytes.Join(d.conf.Segments, nil); !bytes.Equal(got, d.memory) {
			t.Fatalf("MD %d holds % x, want % x", d.name, got, d.memory)
		}
	}
}

func (r *modelRun) compareEvents(t *rapid.T) {
	if r.sweeping {
		order := func(a, b portals.Event) int { return cmp.Compare(a.MD, b.MD) }
		slices.SortFunc(r.events, order)
		slices.SortFunc(r.happened, order)
	}
	if diff := gocmp.Diff(r.events, r.happened, gocmp.Comparer(sameNID), gocmp.Comparer(sameError)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	r.events, r.happened, r.sweeping = nil, nil, false
}

func sameError(a, b error) bool { return errors.Is(a, b) || errors.Is(b, a) }

func (r *modelRun) compareSent(t *rapid.T) {
	for _, s := range r.sent {
		m := r.net.next()
		if m == nil {
			t.Fatalf("nothing was sent, want %v", s.header.Type)
		}
		if diff := gocmp.Diff(s.header, m.Header, gocmp.Comparer(sameNID)); diff != "" {
			t.Fatalf("sent (-want +got):\n%s", diff)
		}
		if got, want := m.Payload.AppendTo(nil), s.payload(); !bytes.Equal(got, want) {
			t.Fatalf("sent % x, want % x", got, want)
		}
		r.messages[s] = m
		r.onTheWay = append(r.onTheWay, s)
	}
	r.sent = nil
	if m := r.net.next(); m != nil {
		t.Fatalf("sent %v to %v, want nothing", m.Header.Type, m.Header.DestNID)
	}
}

// payload returns the bytes of a message that is sent.
func (s *modelSend) payload() []byte {
	if s.md == nil {
		return nil
	}
	return s.md.memory[s.offset:][:s.header.PayloadLength]
}

func (r *modelRun) compareHeld(t *rapid.T) {
	for _, a := range r.released {
		d := r.deliveries[a]
		i := slices.Index(r.net.received, d)
		if i < 0 {
			t.Fatalf("message %d is still held", a.name)
		}
		r.net.received = slices.Delete(r.net.received, i, i+1)
		if a.md != nil {
			r.coming = append(r.coming, a)
		} else {
			r.net.up.Delivered(d, nil)
		}
	}
	r.released = nil
	for i, p := range r.portals {
		if n := r.table.Held(i); n != len(p.held) {
			t.Fatalf("portal %d: %d messages count as held, want %d", i, n, len(p.held))
		}
	}
	if len(r.net.received) > 0 {
		t.Fatalf("%d messages are no longer held, but should be", len(r.net.received))
	}
}

// same compares the errors of a call on table and model.
func (r *modelRun) same(t *rapid.T, got, want error) {
	if (got == nil) != (want == nil) || want != nil && !errors.Is(got, want) {
		t.Fatalf("error %v, want %v", got, want)
	}
}
